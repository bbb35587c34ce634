#include <edgefx/ir/scalar_type.h>

#include <array>

namespace edgefx {
namespace {

struct TypePair {
  Dtype dtype;
  std::optional<at::ScalarType> type;
};

// The enumerator if this LibTorch has one of that name.
#define EDGEFX_SCALAR_TYPE(enumerator)              \
  []<typename Type>(Type) -> std::optional<Type> {  \
    if constexpr (requires { Type::enumerator; }) { \
      return Type::enumerator;                      \
    } else {                                        \
      return std::nullopt;                          \
    }                                               \
  }(at::ScalarType::Float)

constexpr std::array kTypePairs = {
    TypePair{Dtype::UInt8, at::ScalarType::Byte},
    TypePair{Dtype::Int8, at::ScalarType::Char},
    TypePair{Dtype::Int16, at::ScalarType::Short},
    TypePair{Dtype::Int32, at::ScalarType::Int},
    TypePair{Dtype::Int64, at::ScalarType::Long},
    TypePair{Dtype::Float16, at::ScalarType::Half},
    TypePair{Dtype::Float32, at::ScalarType::Float},
    TypePair{Dtype::Float64, at::ScalarType::Double},
    TypePair{Dtype::Complex32, at::ScalarType::ComplexHalf},
    TypePair{Dtype::Complex64, at::ScalarType::ComplexFloat},
    TypePair{Dtype::Complex128, at::ScalarType::ComplexDouble},
    TypePair{Dtype::Bool, at::ScalarType::Bool},
    TypePair{Dtype::BFloat16, at::ScalarType::BFloat16},
    TypePair{Dtype::UInt16, EDGEFX_SCALAR_TYPE(UInt16)},
    TypePair{Dtype::Float8E4M3FN, EDGEFX_SCALAR_TYPE(Float8_e4m3fn)},
    TypePair{Dtype::Float8E5M2, EDGEFX_SCALAR_TYPE(Float8_e5m2)},
    TypePair{Dtype::Float8E4M3FNUZ, EDGEFX_SCALAR_TYPE(Float8_e4m3fnuz)},
    TypePair{Dtype::Float8E5M2FNUZ, EDGEFX_SCALAR_TYPE(Float8_e5m2fnuz)},
    TypePair{Dtype::Float8E8M0FNU, EDGEFX_SCALAR_TYPE(Float8_e8m0fnu)},
    TypePair{Dtype::UInt32, EDGEFX_SCALAR_TYPE(UInt32)},
    TypePair{Dtype::UInt64, EDGEFX_SCALAR_TYPE(UInt64)},
};

#undef EDGEFX_SCALAR_TYPE

}  // namespace

std::optional<at::ScalarType> toScalarType(Dtype dtype) {
  for (const TypePair& pair : kTypePairs) {
    if (pair.dtype == dtype) return pair.type;
  }
  return std::nullopt;
}

std::optional<Dtype> fromScalarType(at::ScalarType type) {
  for (const TypePair& pair : kTypePairs) {
    if (pair.type == type) return pair.dtype;
  }
  return std::nullopt;
}

}  // namespace edgefx
