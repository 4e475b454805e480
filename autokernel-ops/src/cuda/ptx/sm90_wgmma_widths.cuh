// The widths N that wgmma of floats has, for what defines an instruction for each, of operands that are K-major.
#pragma once

// clang-format off
// DEFINE(N, J, A, B, FLAG) for all: J quads of accumulators, and the numbers of the operands that follow them.
#define AUTOKERNEL_FOR_WGMMA_WIDTHS(DEFINE) \
  DEFINE(8, 1, 4, 5, 6) \
  DEFINE(16, 2, 8, 9, 10) \
  DEFINE(24, 3, 12, 13, 14) \
  DEFINE(32, 4, 16, 17, 18) \
  DEFINE(40, 5, 20, 21, 22) \
  DEFINE(48, 6, 24, 25, 26) \
  DEFINE(56, 7, 28, 29, 30) \
  DEFINE(64, 8, 32, 33, 34) \
  DEFINE(72, 9, 36, 37, 38) \
  DEFINE(80, 10, 40, 41, 42) \
  DEFINE(88, 11, 44, 45, 46) \
  DEFINE(96, 12, 48, 49, 50) \
  DEFINE(104, 13, 52, 53, 54) \
  DEFINE(112, 14, 56, 57, 58) \
  DEFINE(120, 15, 60, 61, 62) \
  DEFINE(128, 16, 64, 65, 66) \
  DEFINE(136, 17, 68, 69, 70) \
  DEFINE(144, 18, 72, 73, 74) \
  DEFINE(152, 19, 76, 77, 78) \
  DEFINE(160, 20, 80, 81, 82) \
  DEFINE(168, 21, 84, 85, 86) \
  DEFINE(176, 22, 88, 89, 90) \
  DEFINE(184, 23, 92, 93, 94) \
  DEFINE(192, 24, 96, 97, 98) \
  DEFINE(200, 25, 100, 101, 102) \
  DEFINE(208, 26, 104, 105, 106) \
  DEFINE(216, 27, 108, 109, 110) \
  DEFINE(224, 28, 112, 113, 114) \
  DEFINE(232, 29, 116, 117, 118) \
  DEFINE(240, 30, 120, 121, 122) \
  DEFINE(248, 31, 124, 125, 126) \
  DEFINE(256, 32, 128, 129, 130)
// clang-format on
