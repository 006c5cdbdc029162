// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>

// Written by tools/polynomials.py. The coefficients of each polynomial p go from that of 1 to that of the
// highest power. Errors are relative to the result, and those of the coefficients alone.

namespace executorch::backends::et_xnnpack {

// log2(e).
inline constexpr float kLog2E = 0x1.715476p+0f;

// ln(2) as a sum. A product of the first with an integer of 8 bits is exact.
inline constexpr float kLn2[] = {0x1.62e4p-1f, 0x1.7f7d1cp-20f};

// The least number whose exponential is normal.
inline constexpr float kLogOfSmallestNormal = -0x1.5d589ep+6f;

// 1 / pi.
inline constexpr float kOneOverPi = 0x1.45f306p-2f;

// pi as a sum.
inline constexpr float kPi[] = {0x1.921fb6p+1f, -0x1.777a5cp-24f, -0x1.ee59dap-49f};

// sqrt(2).
inline constexpr float kSqrt2 = 0x1.6a09e6p+0f;

// The tanh approximation of gelu(x) is x / (1 + exp(-2 x p(x^2))), p(x^2) = sqrt(2 / pi) (1 + 0.044715 x^2).
inline constexpr float kGeluTanh[] = {0x1.988454p-1f, 0x1.2444f2p-5f};

// Chosen so that the error of kUpperTail, which has few terms, is small.
inline constexpr float kUpperTailSlope = 0x1.3645a2p-2f;

// The bits of sqrt(1/2) in float64.
inline constexpr int64_t kSqrtHalfBits = 0x3FE6A09E667F3BCD;

// exp(r) = 1 + r + r^2 p(r) for |r| <= ln(2) / 2, within 3.1e-9.
inline constexpr float kExp[] = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558acp-5f, 0x1.12397cp-7f, 0x1.6a519p-10f};

// exp(r) = 1 + r p(r) for |r| <= ln(2) / 2, within 9.2e-8.
inline constexpr float kExpNonpositive[] = {
    0x1.fffff6p-1f,
    0x1.fffdc6p-2f,
    0x1.555a8p-3f,
    0x1.573a1ap-5f,
    0x1.0f9f9ep-7f,
};

// Q(a) = exp(-a^2 / 2) p(u) for 0 <= a <= 20, where Q(a) is how much of the normal distribution lies above a,
// and u = 1 / (1 + kUpperTailSlope a), within 8.4e-8.
inline constexpr float kUpperTail[] = {
    0x1.1e920ap-18f,
    0x1.ee9b98p-4f,
    0x1.f57ec6p-4f,
    0x1.9629c8p-4f,
    0x1.0d6494p-3f,
    -0x1.cda32ep-5f,
    0x1.a57acp-3f,
    -0x1.49e358p-3f,
    0x1.352214p-5f,
};

// erf(x) = x + x p(x^2) for |x| <= 1, within 1.5e-9.
inline constexpr float kErf[] = {
    0x1.06eba8p-3f,
    -0x1.81273ep-2f,
    0x1.ce2cf2p-4f,
    -0x1.b7f88cp-6f,
    0x1.540172p-8f,
    -0x1.a3d812p-11f,
    0x1.4917a4p-14f,
};

// sin(r) = r + r^3 p(r^2) for |r| <= pi / 2, within 6.2e-9.
inline constexpr float kSin[] = {-0x1.55554cp-3f, 0x1.110edap-7f, -0x1.9f70f2p-13f, 0x1.5dc94p-19f};

// log2(m) = s p(s^2) for sqrt(1/2) <= m <= sqrt(2), s = (m - 1) / (m + 1), within 4.2e-12.
inline constexpr double kLog2[] = {
    0x1.71547652bede5p+1,
    0x1.ec709d12e1623p-1,
    0x1.27777fda5cfbep-1,
    0x1.a58d8fc54650ap-2,
    0x1.5ce7cd3a78132p-2,
};

// 2^r = 1 + r p(r) for |r| <= 1/2, within 2.0e-9.
inline constexpr double kExp2[] = {
    0x1.62e430af274p-1,
    0x1.ebfbdc3c32aeep-3,
    0x1.c6aee88e88736p-5,
    0x1.3b2d4cefcff2ep-7,
    0x1.5f3e52ed91389p-10,
    0x1.41fbbd5c1dcap-13,
};

} // namespace executorch::backends::et_xnnpack
