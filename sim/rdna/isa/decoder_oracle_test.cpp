// Every form of the tables against llvm-objdump-19: whatever the decoder accepts must print the
// same text and have the same length; every form must be accepted at least once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "rdna/isa/decoder.hpp"
#include "rdna/isa/form.hpp"
#include "rdna/isa/printer.hpp"
#include "rdna/testing/random_encoding.hpp"
#include "rdna/testing/toolchain.hpp"

namespace moe::sim::rdna {
namespace {

using testing::kSlotDwords;
using testing::Slot;

constexpr int kPlainInstances = 3;
constexpr int kRandomInstances = 21;
constexpr int kRandomWords = 20000;
constexpr uint32_t kSwizzleOpcode = 0x35;
constexpr uint32_t kNop = 0xbf800000;
constexpr int kShownFailures = 40;

struct Case {
  Slot words;
  Encoding encoding{};
  const Form* form = nullptr;  // nullptr: random dwords
};

std::vector<Case> all_cases() {
  std::mt19937 random(20240607);
  std::vector<Case> cases;
  for (size_t e = 0; e < kEncodingCount; ++e) {
    const auto encoding = static_cast<Encoding>(e);
    for (const Form& form : forms_of(encoding)) {
      for (int i = 0; i < kPlainInstances + kRandomInstances; ++i) {
        cases.push_back({testing::random_encoding(encoding, form, random, i < kPlainInstances),
                         encoding, &form});
      }
    }
  }
  for (uint32_t offset = 0; offset < 65536; offset += 7) {
    const Form* swizzle = find_form(Encoding::kDs, kSwizzleOpcode);
    cases.push_back(
        {{0xd8000000 | kSwizzleOpcode << 18 | offset, 0, kNop, kNop}, Encoding::kDs, swizzle});
  }
  for (int i = 0; i < kRandomWords; ++i) {
    Case random_case;
    for (uint32_t& word : random_case.words) word = static_cast<uint32_t>(random());
    cases.push_back(random_case);
  }
  return cases;
}

testing::Disassembly disassemble_cases(const std::vector<Case>& cases, const std::string& target) {
  std::string text;
  for (const Case& c : cases) {
    text += fmt::format(".long 0x{:x},0x{:x},0x{:x},0x{:x}\n", c.words[0], c.words[1], c.words[2],
                        c.words[3]);
  }
  testing::ScratchFolder folder;
  return testing::disassemble(testing::assemble(folder, text, target), target);
}

// Objdump goes on with the dwords behind an instruction: a slot may be entered in the middle when
// the slot before it was misread, which only random dwords can cause.
const testing::DisassembledLine* line_at(const testing::Disassembly& lines, size_t slot) {
  const auto found = lines.find(slot * kSlotDwords * sizeof(uint32_t));
  return found == lines.end() ? nullptr : &found->second;
}

class DecoderOracle : public ::testing::TestWithParam<const char*> {};

TEST_P(DecoderOracle, EveryFormPrintsAsObjdumpDoes) {
  if (const std::string missing = testing::missing_tools(); !missing.empty())
    GTEST_SKIP() << missing;
  const std::vector<Case> cases = all_cases();
  const testing::Disassembly lines = disassemble_cases(cases, GetParam());
  const Isa isa = *isa_of(GetParam());
  std::set<const Form*> verified = {nullptr};
  int different = 0;
  int refused = 0;
  size_t compared = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto decoded = decode(cases[i].words, i * kSlotDwords * sizeof(uint32_t), isa);
    const auto* line = line_at(lines, i);
    if (!decoded.ok()) {
      const bool known = line != nullptr && line->text.rfind(".long", 0) != 0 &&
                         line->text.find("Invalid") == std::string::npos;
      if (cases[i].form != nullptr && known) ++refused;
      continue;
    }
    if (line == nullptr) continue;
    ++compared;
    const std::string text = to_text(*decoded);
    const bool same = text == line->text && decoded->dword_count == line->dwords.size();
    if (!same && ++different <= kShownFailures) {
      ADD_FAILURE() << fmt::format("{:08x} {:08x} {:08x}\n  ours    {}\n  objdump {}",
                                   cases[i].words[0], cases[i].words[1], cases[i].words[2], text,
                                   line->text);
    }
    if (!same || cases[i].form == nullptr) continue;
    verified.insert(decoded->form);
    verified.insert(decoded->second_form);
  }
  EXPECT_EQ(different, 0);
  // What objdump prints and the decoder does not take: scalar sources of DPP forms before gfx11.5.
  EXPECT_LT(refused * 20, static_cast<int>(compared));
  size_t forms = 0;
  for (size_t e = 0; e < kEncodingCount; ++e) {
    for (const Form& form : forms_of(static_cast<Encoding>(e))) {
      if ((form.modifiers & kFormGfx115) != 0 && isa != Isa::kGfx115) continue;
      ++forms;
      EXPECT_TRUE(verified.count(&form))
          << encoding_name(static_cast<Encoding>(e)) << " " << form.name << form.suffix;
    }
  }
  RecordProperty("forms", static_cast<int>(forms));
  std::fputs(fmt::format("{}: {} forms, {} verified, {} instances compared, {} refused\n",
                         GetParam(), forms, verified.size() - 1, compared, refused)
                 .c_str(),
             stdout);
}

// The other direction, through the assembler: text to dwords to the same text.
TEST(DecoderAssembled, TextComesBack) {
  if (const std::string missing = testing::missing_tools(); !missing.empty())
    GTEST_SKIP() << missing;
  const std::vector<std::string> lines = {
      "s_abs_i32 s4, -5",
      "s_waitcnt vmcnt(3) lgkmcnt(7)",
      "s_waitcnt_vscnt null, 0x2",
      "s_getreg_b32 s3, hwreg(HW_REG_MODE, 4, 4)",
      "s_load_b512 s[16:31], s[2:3], s7 offset:-0x40 glc",
      "s_bitcmp1_b32 vcc_lo, 31",
      "v_rcp_iflag_f32_e32 v1, -1.0",
      "v_max3_f32 v5, |v1|, -v2, 0x42f60000 clamp mul:2",
      "v_div_scale_f32 v1, vcc_lo, v2, v3, v2",
      "v_mad_u64_u32 v[2:3], null, s4, v5, v[6:7]",
      "v_permlanex16_b32 v1, v2, s3, 15 op_sel:[0,1]",
      "v_readlane_b32 s5, v255, m0",
      "v_cmpx_class_f32_e64 v1, 3",
      "v_add_f32_dpp v1, -v2, |v3| row_share:7 row_mask:0xa bank_mask:0xf bound_ctrl:1 fi:1",
      "v_mov_b32_dpp v1, v2 dpp8:[7,6,5,4,3,2,1,0]",
      "v_dual_cndmask_b32 v0, s1, v2 :: v_dual_and_b32 v1, 63, v5",
      "v_pk_fma_f16 v1, v2, s3, 1.0 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0]",
      "v_wmma_f32_16x16x16_bf16 v[8:15], v[16:23], v[24:31], 1.0 neg_lo:[0,0,1]",
      "ds_store_2addr_stride64_b64 v1, v[2:3], v[4:5] offset0:3 offset1:255",
      "ds_swizzle_b32 v8, v2 offset:swizzle(BROADCAST,8,7)",
      "flat_atomic_cmpswap_b64 v[0:1], v[2:3], v[4:7] offset:4095 glc slc",
      "global_store_d16_hi_b8 v1, v2, s[4:5] offset:-4096 dlc",
      "scratch_load_d16_hi_b16 v1, v2, s3 offset:16",
      "scratch_store_b96 off, v[4:6], off offset:4",
      "buffer_gl0_inv",
      "buffer_gl1_inv",
      "s_dcache_inv",
  };
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  testing::ScratchFolder folder;
  const auto listing = testing::disassemble(testing::assemble(folder, text, "gfx1100"), "gfx1100");
  ASSERT_EQ(listing.size(), lines.size());
  size_t i = 0;
  for (const auto& [address, line] : listing) {
    const auto decoded = decode(line.dwords, address, Isa::kGfx11);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(to_text(*decoded), lines[i++]);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DecoderOracle,
                         ::testing::Values("gfx1100", "gfx1103", "gfx1150", "gfx1151"));

}  // namespace
}  // namespace moe::sim::rdna
