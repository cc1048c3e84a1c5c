// See form.hpp. The numbers, operands and modifiers stand in isa/forms/*.inc.
#include "rdna/isa/form.hpp"

#include <algorithm>
#include <array>

namespace moe::sim::rdna {
namespace {

#define MOE_FORM(number, name, suffix, operands, modifiers) \
  Form{number, Operation::name, #name, #suffix, operands, modifiers},

constexpr Form kSop1[] = {
#define MOE_SOP1 MOE_FORM
#include "rdna/isa/forms/scalar.inc"
};
constexpr Form kSop2[] = {
#define MOE_SOP2 MOE_FORM
#include "rdna/isa/forms/scalar.inc"
};
constexpr Form kSopc[] = {
#define MOE_SOPC MOE_FORM
#include "rdna/isa/forms/scalar.inc"
};
constexpr Form kSopk[] = {
#define MOE_SOPK MOE_FORM
#include "rdna/isa/forms/scalar.inc"
};
constexpr Form kSopp[] = {
#define MOE_SOPP MOE_FORM
#include "rdna/isa/forms/scalar.inc"
};
constexpr Form kSmem[] = {
#define MOE_SMEM MOE_FORM
#include "rdna/isa/forms/scalar.inc"
};
constexpr Form kVop1[] = {
#define MOE_VOP1 MOE_FORM
#include "rdna/isa/forms/vector.inc"
};
constexpr Form kVop2[] = {
#define MOE_VOP2 MOE_FORM
#include "rdna/isa/forms/vector.inc"
};
constexpr Form kVopd[] = {
#define MOE_VOPD MOE_FORM
#include "rdna/isa/forms/vector.inc"
};
constexpr Form kVop3p[] = {
#define MOE_VOP3P MOE_FORM
#include "rdna/isa/forms/vector.inc"
};
constexpr Form kVopc[] = {
#define MOE_VOPC MOE_FORM
#include "rdna/isa/forms/compare.inc"
};
constexpr Form kVop3[] = {
#define MOE_VOP3 MOE_FORM
#include "rdna/isa/forms/compare.inc"
#define MOE_VOP3 MOE_FORM
#include "rdna/isa/forms/vector_long.inc"
};
constexpr Form kDs[] = {
#define MOE_DS MOE_FORM
#include "rdna/isa/forms/memory.inc"
};
constexpr Form kFlat[] = {
#define MOE_FLAT MOE_FORM
#include "rdna/isa/forms/memory.inc"
};
constexpr Form kGlobal[] = {
#define MOE_GLOBAL MOE_FORM
#include "rdna/isa/forms/memory.inc"
};
constexpr Form kScratch[] = {
#define MOE_SCRATCH MOE_FORM
#include "rdna/isa/forms/memory.inc"
};
constexpr Form kMubuf[] = {
#define MOE_MUBUF MOE_FORM
#include "rdna/isa/forms/memory.inc"
};

template <size_t N>
constexpr bool ascending(const Form (&forms)[N]) {
  for (size_t i = 1; i < N; ++i) {
    if (forms[i - 1].number >= forms[i].number) return false;
  }
  return true;
}
// find_form searches by halving.
static_assert(ascending(kSop1) && ascending(kSop2) && ascending(kSopc) && ascending(kSopk) &&
              ascending(kSopp) && ascending(kSmem) && ascending(kVop1) && ascending(kVop2) &&
              ascending(kVopc) && ascending(kVop3) && ascending(kVop3p) && ascending(kVopd) &&
              ascending(kDs) && ascending(kFlat) && ascending(kGlobal) && ascending(kScratch) &&
              ascending(kMubuf));

constexpr std::string_view kOperationNames[] = {
#define MOE_OPERATION(name) #name,
#include "rdna/isa/forms/operations.inc"
#undef MOE_OPERATION
};

}  // namespace

std::span<const Form> forms_of(Encoding encoding) {
  switch (encoding) {
    case Encoding::kSop1:
      return kSop1;
    case Encoding::kSop2:
      return kSop2;
    case Encoding::kSopc:
      return kSopc;
    case Encoding::kSopk:
      return kSopk;
    case Encoding::kSopp:
      return kSopp;
    case Encoding::kSmem:
      return kSmem;
    case Encoding::kVop1:
      return kVop1;
    case Encoding::kVop2:
      return kVop2;
    case Encoding::kVopc:
      return kVopc;
    case Encoding::kVop3:
      return kVop3;
    case Encoding::kVop3p:
      return kVop3p;
    case Encoding::kVopd:
      return kVopd;
    case Encoding::kDs:
      return kDs;
    case Encoding::kFlat:
      return kFlat;
    case Encoding::kGlobal:
      return kGlobal;
    case Encoding::kScratch:
      return kScratch;
    case Encoding::kMubuf:
      return kMubuf;
  }
  return {};
}

const Form* find_form(Encoding encoding, uint32_t number) {
  const std::span<const Form> forms = forms_of(encoding);
  const auto found =
      std::lower_bound(forms.begin(), forms.end(), number,
                       [](const Form& form, uint32_t wanted) { return form.number < wanted; });
  return found != forms.end() && found->number == number ? &*found : nullptr;
}

std::string_view encoding_name(Encoding encoding) {
  constexpr std::array<std::string_view, kEncodingCount> kNames = {
      "SOP1", "SOP2",  "SOPC", "SOPK", "SOPP", "SMEM",   "VOP1",    "VOP2", "VOPC",
      "VOP3", "VOP3P", "VOPD", "DS",   "FLAT", "GLOBAL", "SCRATCH", "MUBUF"};
  return kNames[static_cast<size_t>(encoding)];
}

std::string_view operation_name(Operation operation) {
  return kOperationNames[static_cast<size_t>(operation)];
}

}  // namespace moe::sim::rdna
