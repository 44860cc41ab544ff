// Physical quantities as types: a Watts cannot be passed where Joules are wanted, and the compiler
// does the algebra (Watts * Seconds is Joules, Joules / Joules is a plain double).
//
//   Joules used = 300.0_W * 2.0_s;         // 600 J
//   Watts mean = used / 3.0_s;             // 200 W
//
// A quantity holds one double in SI units (grams for mass, the unit of carbon accounting); it costs
// nothing over a raw double.
#pragma once

#include <compare>
#include <cstdint>

namespace perjoule {

/// A value of dimension energy^E * time^T * mass^M.
template <int E, int T, int M>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  /// The value in SI units (joules, seconds, watts, hertz; grams).
  constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }
  constexpr Quantity& operator*=(double factor) { return *this = *this * factor; }
  constexpr Quantity& operator/=(double divisor) { return *this = *this / divisor; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, double b) { return Quantity(a.value_ * b); }
  friend constexpr Quantity operator*(double a, Quantity b) { return Quantity(a * b.value_); }
  friend constexpr Quantity operator/(Quantity a, double b) { return Quantity(a.value_ / b); }

 private:
  double value_ = 0;
};

namespace internal {
/// A dimensionless result is a plain double.
template <int E, int T, int M>
constexpr auto dimensioned(double value) {
  if constexpr (E == 0 && T == 0 && M == 0) {
    return value;
  } else {
    return Quantity<E, T, M>(value);
  }
}
}  // namespace internal

template <int E1, int T1, int M1, int E2, int T2, int M2>
constexpr auto operator*(Quantity<E1, T1, M1> a, Quantity<E2, T2, M2> b) {
  return internal::dimensioned<E1 + E2, T1 + T2, M1 + M2>(a.value() * b.value());
}
template <int E1, int T1, int M1, int E2, int T2, int M2>
constexpr auto operator/(Quantity<E1, T1, M1> a, Quantity<E2, T2, M2> b) {
  return internal::dimensioned<E1 - E2, T1 - T2, M1 - M2>(a.value() / b.value());
}
template <int E, int T, int M>
constexpr auto operator/(double a, Quantity<E, T, M> b) {
  return internal::dimensioned<-E, -T, -M>(a / b.value());
}
template <int E, int T, int M>
constexpr Quantity<E, T, M> abs(Quantity<E, T, M> q) {
  return q.value() < 0 ? -q : q;
}

using Joules = Quantity<1, 0, 0>;
using Seconds = Quantity<0, 1, 0>;
using Watts = Quantity<1, -1, 0>;
using Hertz = Quantity<0, -1, 0>;
using Grams = Quantity<0, 0, 1>;
using JouleSeconds = Quantity<1, 1, 0>;  ///< the energy-delay product

namespace literals {
constexpr Joules operator""_J(long double v) { return Joules(static_cast<double>(v)); }
constexpr Seconds operator""_s(long double v) { return Seconds(static_cast<double>(v)); }
constexpr Watts operator""_W(long double v) { return Watts(static_cast<double>(v)); }
constexpr Hertz operator""_Hz(long double v) { return Hertz(static_cast<double>(v)); }
}  // namespace literals

constexpr Joules kilowatt_hours(double kwh) { return Joules(kwh * 3.6e6); }
constexpr double in_kilowatt_hours(Joules energy) { return energy.value() / 3.6e6; }
constexpr Hertz megahertz(double mhz) { return Hertz(mhz * 1e6); }
constexpr double in_megahertz(Hertz frequency) { return frequency.value() / 1e6; }

}  // namespace perjoule
