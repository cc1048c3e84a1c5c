// The decoder without any other program: the typed parts of instructions, the refusals and their
// messages, and that the tables hold everything that our kernels and Triton's use.
#include "rdna/isa/decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>
#include <vector>

#include "rdna/isa/form.hpp"
#include "rdna/isa/immediates.hpp"
#include "rdna/isa/printer.hpp"

namespace moe::sim::rdna {
namespace {

using ::testing::HasSubstr;

Instruction decoded(std::vector<uint32_t> words, Isa isa = Isa::kGfx11) {
  const auto instruction = decode(words, 0x100, isa);
  EXPECT_TRUE(instruction.ok()) << instruction.error().message;
  return instruction.ok() ? *instruction : Instruction{};
}

std::string refusal(std::vector<uint32_t> words, Isa isa = Isa::kGfx11) {
  const auto instruction = decode(words, 0x1600, isa);
  if (instruction.ok()) return "accepted: " + to_text(*instruction);
  EXPECT_FALSE(instruction.error().fix.empty());
  return instruction.error().message;
}

TEST(Decoder, SourcesAndModifiersOfVop3) {
  const Instruction ins = decoded({0xd6138104, 0xc4422108});
  EXPECT_EQ(ins.operation, Operation::v_fma_f32);
  EXPECT_EQ(ins.encoding, Encoding::kVop3);
  EXPECT_EQ(ins.dword_count, 2);
  ASSERT_EQ(ins.operand_count, 4);
  EXPECT_TRUE(ins.operands[0].destination);
  EXPECT_EQ(ins.operands[0].index, 4);
  EXPECT_TRUE(ins.operands[1].absolute);
  EXPECT_FALSE(ins.operands[1].negate);
  EXPECT_TRUE(ins.operands[2].negate);
  EXPECT_TRUE(ins.operands[3].negate);
  EXPECT_TRUE(ins.modifiers.clamp);
  EXPECT_EQ(to_text(ins), "v_fma_f32 v4, |v8|, -v16, -v16 clamp");
}

TEST(Decoder, MatrixOperandsSpanEightRegisters) {
  const Instruction ins = decoded({0xcc414004, 0x1c622108});
  EXPECT_EQ(ins.operation, Operation::v_wmma_f32_16x16x16_bf16);
  for (const Operand& operand : ins.used_operands()) EXPECT_EQ(operand.registers, 8);
  EXPECT_EQ(to_text(ins), "v_wmma_f32_16x16x16_bf16 v[4:11], v[8:15], v[16:23], v[24:31]");
}

TEST(Decoder, DualIssueKeepsBothHalves) {
  const Instruction ins = decoded({0xca220080, 0x04020082});
  EXPECT_EQ(ins.operation, Operation::v_mov_b32);
  EXPECT_EQ(ins.second_operation, Operation::v_lshlrev_b32);
  EXPECT_EQ(ins.second_begin, 2);
  ASSERT_EQ(ins.operand_count, 5);
  EXPECT_EQ(ins.operands[0].index, 4);
  EXPECT_EQ(ins.operands[2].index, 3);
}

TEST(Decoder, ConstantsFollowTheOperandsType) {
  const Instruction single = decoded({0xd5030004, 0x000210f2});
  EXPECT_EQ(single.operands[1].bits, std::bit_cast<uint32_t>(1.0f));
  const Instruction wide = decoded({0xd6140004, 0x040210f2});
  EXPECT_EQ(wide.operands[1].bits, std::bit_cast<uint64_t>(1.0));
  const Instruction half = decoded({0xd6480004, 0x040210f2});
  EXPECT_EQ(half.operands[1].bits, 0x3c00u);
  const Instruction minus_one = decoded({0xd5030004, 0x000210c1});
  EXPECT_EQ(minus_one.operands[1].bits, ~uint64_t{0});
  const Instruction literal = decoded({0xd6140004, 0x040210ff, 0x40590000});
  EXPECT_TRUE(literal.has_literal);
  EXPECT_EQ(literal.operands[1].bits, uint64_t{0x40590000} << 32);
}

TEST(Decoder, MemoryOffsetsAndCacheBits) {
  const Instruction load = decoded({0xdc52fff8, 0x04100010});
  EXPECT_EQ(load.offset, -8);
  EXPECT_TRUE(load.modifiers.glc && load.modifiers.slc && load.modifiers.dlc);
  const Instruction pair = decoded({0xd8dc0201, 0x04000010});
  EXPECT_EQ(pair.offset0, 1);
  EXPECT_EQ(pair.offset1, 2);
  const Instruction scalar = decoded({0xf4000402, 0xf81ffff0});
  EXPECT_EQ(static_cast<int64_t>(scalar.operands[2].bits), -16);
  EXPECT_EQ(scalar.operands[2].index, kNull);
}

TEST(Decoder, DppWordIsSplit) {
  const Instruction ins = decoded({0x060a02fa, 0xef5c1b08});
  EXPECT_EQ(ins.dpp.kind, DppKind::kDpp16);
  EXPECT_EQ(ins.dpp.control, 0x1b);
  EXPECT_EQ(ins.dpp.row_mask, 0xe);
  EXPECT_EQ(ins.dpp.bank_mask, 0xf);
  EXPECT_TRUE(ins.dpp.bound_control);
  EXPECT_TRUE(ins.dpp.fetch_inactive);
  EXPECT_TRUE(ins.operands[1].negate);
  EXPECT_TRUE(ins.operands[2].negate);
}

TEST(Decoder, BranchTargetsAndWaits) {
  EXPECT_EQ(branch_target(decoded({0xbfa1fff4})), 0x100u + 4 - 12 * 4);
  EXPECT_EQ(branch_target(decoded({0xbfa00010})), 0x100u + 4 + 16 * 4);
  const WaitCounts counts = wait_counts(0x03f7);
  EXPECT_EQ(counts.vector_memory, 0u);
  EXPECT_EQ(counts.lds_and_scalar, 63u);
}

TEST(Decoder, UnknownThingsNameAddressDwordsEncodingAndOpcode) {
  const std::string opcode = refusal({0xd5ff0004, 0x00021108});
  EXPECT_THAT(opcode, HasSubstr("0x1600"));
  EXPECT_THAT(opcode, HasSubstr("d5ff0004 00021108"));
  EXPECT_THAT(opcode, HasSubstr("VOP3 opcode 0x1ff"));
  EXPECT_THAT(opcode, HasSubstr("unknown opcode"));
  EXPECT_THAT(refusal({0xf0000000, 0}), HasSubstr("unknown encoding"));
  EXPECT_THAT(refusal({0xd6558004, 0x04422108}), HasSubstr("v_add3_u32: unknown modifier clamp"));
  EXPECT_THAT(refusal({0xd6550104, 0x04422108}), HasSubstr("unknown modifier abs"));
  EXPECT_THAT(refusal({0xd6550004, 0x24422108}), HasSubstr("unknown modifier neg"));
  EXPECT_THAT(refusal({0xd6550004, 0x0c422108}), HasSubstr("unknown modifier omod"));
  EXPECT_THAT(refusal({0xd6550804, 0x04422108}), HasSubstr("unknown modifier op_sel"));
  EXPECT_THAT(refusal({0xd8da0000, 0x04000010}), HasSubstr("unknown modifier gds"));
  EXPECT_THAT(refusal({0x060a02fa, 0xff01ff08}), HasSubstr("unknown dpp_ctrl 0x1ff"));
  EXPECT_THAT(refusal({0xbe8000d1}), HasSubstr("unknown source"));
  EXPECT_THAT(refusal({0xbe800165}), HasSubstr("cannot start a group of 2"));
  EXPECT_THAT(refusal({0xcc4140fa, 0x1c622108}), HasSubstr("the last is v255"));
  EXPECT_THAT(refusal({0xd8d80000, 0x04001210}), HasSubstr("unused field 'y' holds 0x12"));
}

TEST(Decoder, TrueHalvesOfRegistersAreRefused) {
  EXPECT_THAT(refusal({0x64020180}), HasSubstr("the last is v127"));
  EXPECT_THAT(refusal({0x7e043908}), HasSubstr("unknown opcode"));  // v_mov_b16
}

TEST(Decoder, ScalarFloatsNeedGfx115) {
  EXPECT_EQ(to_text(decoded({0xa0040c08}, Isa::kGfx115)), "s_add_f32 s4, s8, s12");
  EXPECT_THAT(refusal({0xa0040c08}), HasSubstr("before gfx11.5"));
  EXPECT_EQ(isa_of("gfx1100"), Isa::kGfx11);
  EXPECT_EQ(isa_of("gfx1151"), Isa::kGfx115);
  EXPECT_EQ(isa_of("gfx1200"), std::nullopt);
}

TEST(Decoder, CutOffInstructionsAreCorrupt) {
  EXPECT_THAT(refusal({0xd6130004}), HasSubstr("needs 2 dwords, the code ends after 1"));
  EXPECT_THAT(refusal({0xbe8000ff}), HasSubstr("needs 2 dwords, the code ends after 1"));
  EXPECT_THAT(refusal({}), HasSubstr("no code"));
  EXPECT_FALSE(decode_all(std::vector<uint32_t>{0xbf800000, 0xd6130004}, 0, Isa::kGfx11).ok());
}

// Opcode/encoding forms that our kernels and vLLM's Triton kernels need.
TEST(DecoderTables, HoldTheInventory) {
  const std::vector<std::pair<Encoding, std::vector<std::string>>> inventory = {
      {Encoding::kSopp,
       {"s_delay_alu", "s_waitcnt", "s_cbranch_execz", "s_nop", "s_cbranch_execnz",
        "s_waitcnt_depctr", "s_branch", "s_clause", "s_cbranch_scc1", "s_barrier",
        "s_cbranch_vccnz", "s_cbranch_vccz", "s_cbranch_scc0", "s_endpgm", "s_sendmsg"}},
      {Encoding::kSop1,
       {"s_mov_b32", "s_mov_b64", "s_and_saveexec_b32", "s_and_not1_saveexec_b32",
        "s_or_saveexec_b32", "s_abs_i32", "s_ctz_i32_b32", "s_bcnt1_i32_b32"}},
      {Encoding::kSop2,
       {"s_or_b32",     "s_and_b32",  "s_xor_b32",  "s_and_not1_b32", "s_or_not1_b32",
        "s_xor_b64",    "s_or_b64",   "s_add_i32",  "s_sub_i32",      "s_add_u32",
        "s_addc_u32",   "s_sub_u32",  "s_subb_u32", "s_mul_i32",      "s_mul_hi_i32",
        "s_mul_hi_u32", "s_lshl_b32", "s_lshl_b64", "s_lshr_b32",     "s_ashr_i32",
        "s_max_i32",    "s_min_i32",  "s_max_u32",  "s_cselect_b32",  "s_bfe_u32"}},
      {Encoding::kSopc,
       {"s_cmp_eq_u32", "s_cmp_lg_u32", "s_cmp_ge_i32", "s_cmp_gt_i32", "s_cmp_lt_i32",
        "s_bitcmp1_b32"}},
      {Encoding::kSopk,
       {"s_movk_i32", "s_mulk_i32", "s_addk_i32", "s_cmpk_lt_i32", "s_cmpk_lt_u32",
        "s_waitcnt_vscnt"}},
      {Encoding::kSmem, {"s_load_b32", "s_load_b64", "s_load_b128", "s_load_b256", "s_load_b512"}},
      {Encoding::kVop1,
       {"v_mov_b32", "v_exp_f32", "v_rcp_f32", "v_rcp_iflag_f32", "v_rsq_f32", "v_rndne_f32",
        "v_trunc_f32", "v_cvt_i32_f32", "v_cvt_u32_f32", "v_cvt_f32_u32", "v_cvt_f32_i32",
        "v_cvt_f32_ubyte0", "v_bfrev_b32", "v_readfirstlane_b32"}},
      {Encoding::kVop2,
       {"v_add_f32",       "v_sub_f32",       "v_mul_f32",       "v_max_f32",     "v_fmac_f32",
        "v_fmamk_f32",     "v_cndmask_b32",   "v_and_b32",       "v_or_b32",      "v_xor_b32",
        "v_lshlrev_b32",   "v_lshrrev_b32",   "v_ashrrev_i32",   "v_add_nc_u32",  "v_sub_nc_u32",
        "v_subrev_nc_u32", "v_add_co_ci_u32", "v_sub_co_ci_u32", "v_mul_u32_u24", "v_max_i32"}},
      {Encoding::kVop3,
       {"v_add3_u32",      "v_bfe_u32",         "v_lshl_or_b32",   "v_lshl_add_u32",
        "v_or3_b32",       "v_and_or_b32",      "v_xad_u32",       "v_cndmask_b32",
        "v_cndmask_b16",   "v_fma_f32",         "v_ldexp_f32",     "v_div_fmas_f32",
        "v_div_fixup_f32", "v_mad_u32_u24",     "v_mul_lo_u32",    "v_mul_hi_u32",
        "v_mul_hi_i32",    "v_lshlrev_b64",     "v_ashrrev_i64",   "v_mbcnt_lo_u32_b32",
        "v_max3_f32",      "v_permlanex16_b32", "v_readlane_b32",  "v_add_co_u32",
        "v_add_co_ci_u32", "v_sub_co_u32",      "v_sub_co_ci_u32", "v_subrev_co_ci_u32",
        "v_mad_u64_u32",   "v_mad_i64_i32",     "v_div_scale_f32", "v_cmp_lt_f32",
        "v_cmpx_gt_f32",   "v_cmp_nlt_f32",     "v_cmp_ngt_f32",   "v_cmp_u_f32",
        "v_cmp_o_f32",     "v_cmp_eq_i32",      "v_cmp_ne_u64"}},
      {Encoding::kVopc, {"v_cmp_lt_f32", "v_cmpx_gt_u32", "v_cmp_u_f32", "v_cmp_ne_u64"}},
      {Encoding::kVopd,
       {"v_mov_b32", "v_add_nc_u32", "v_lshlrev_b32", "v_and_b32", "v_cndmask_b32", "v_add_f32",
        "v_sub_f32", "v_mul_f32", "v_fmac_f32"}},
      {Encoding::kVop3p, {"v_wmma_f32_16x16x16_bf16"}},
      {Encoding::kDs,
       {"ds_load_b32", "ds_store_b32", "ds_store_b64", "ds_load_b128", "ds_store_b128",
        "ds_load_2addr_b32", "ds_add_u32", "ds_bpermute_b32"}},
      {Encoding::kGlobal,
       {"global_load_u16", "global_load_d16_b16", "global_load_b32", "global_load_b64",
        "global_load_b128", "global_store_b16", "global_store_d16_hi_b16", "global_store_b32",
        "global_store_b64", "global_store_b96", "global_store_b128", "global_atomic_add_u32",
        "global_atomic_max_u32", "global_atomic_cmpswap_b32", "global_atomic_add_f32"}},
      {Encoding::kFlat, {"flat_load_u16", "flat_load_d16_b16", "flat_load_b128"}},
      {Encoding::kScratch, {"scratch_load_b32", "scratch_store_b32", "scratch_load_b128"}},
      {Encoding::kMubuf, {"buffer_gl0_inv"}},
  };
  for (const auto& [encoding, names] : inventory) {
    std::set<std::string> known;
    for (const Form& form : forms_of(encoding)) known.emplace(form.name);
    for (const std::string& name : names) {
      EXPECT_TRUE(known.count(name)) << encoding_name(encoding) << " " << name;
    }
  }
}

}  // namespace
}  // namespace moe::sim::rdna
