// What the tuner's worker runs on the GPU beside the kernels it measures: inputs, checks, a brake, a clock. Every kernel
// is correct on any grid.

namespace instruments {

using autokernel::bf16;
using autokernel::e4m3;
using autokernel::e5m2;
using autokernel::f16;
using autokernel::i4x2;
using autokernel::i8;
using autokernel::to_f32;

__device__ __forceinline__ float to_f32(bf16 value) { return __uint_as_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ float to_f32(f16 value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
}
__device__ __forceinline__ float to_f32(float value) { return value; }
__device__ __forceinline__ float to_f32(e5m2 value) { return to_f32(f16{uint16_t(value.bits << 8)}); }
__device__ __forceinline__ float to_f32(e4m3 value) {
  const uint32_t magnitude = value.bits & 0x7f;
  if (magnitude == 0x7f) return __uint_as_float(0x7fffffff);
  return 256.0f * to_f32(f16{uint16_t(magnitude << 7 | (value.bits & 0x80) << 8)});
}

// Two numbers in a byte as the number that the byte is.
__device__ __forceinline__ float to_f32(i4x2 pair) { return float(int8_t(pair.bits)); }

template <typename T>
__device__ __forceinline__ T rounded(float value) {
  return autokernel::from_f32<T>(value);
}
// The upper half of an f16, for numbers that are not large; to the nearest, ties away from zero.
template <>
__device__ __forceinline__ e5m2 rounded<e5m2>(float value) {
  return e5m2{uint8_t((autokernel::from_f32<f16>(value).bits + 0x80) >> 8)};
}
// The same of one whose exponents are 8 more: an f16's digits beyond the third are cut.
template <>
__device__ __forceinline__ e4m3 rounded<e4m3>(float value) {
  const uint32_t half = autokernel::from_f32<f16>(value * 0x1p-8f).bits;
  return e4m3{uint8_t(((half & 0x7fff) + 0x40) >> 7 | (half & 0x8000) >> 8)};
}

// To the nearest, and the largest of what is beyond it.
template <>
__device__ __forceinline__ i8 rounded<i8>(float value) {
  return i8{int8_t(fminf(fmaxf(rintf(value), -128.0f), 127.0f))};
}

template <>
__device__ __forceinline__ i4x2 rounded<i4x2>(float value) {
  return i4x2{uint8_t(rounded<i8>(value).value)};
}

// SplitMix64's finaliser (Steele, Lea, Flood 2014): neighbouring counters give independent bits.
__device__ __forceinline__ uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// A standard normal number for each counter (Box and Muller 1958).
__device__ __forceinline__ float normal(uint64_t seed, uint64_t counter) {
  const uint64_t bits = mix(mix(seed) ^ counter);
  const float u = (float(uint32_t(bits >> 40)) + 1.0f) * 0x1p-24f;  // (0, 1]: its logarithm is finite
  const float v = float(uint32_t(bits) >> 8) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

__device__ __forceinline__ uint64_t thread_index() { return uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ uint64_t thread_count() { return uint64_t(gridDim.x) * blockDim.x; }

__device__ __forceinline__ uint64_t global_nanoseconds() {
  uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

struct Report {
  unsigned long long wrong;        // elements that differ, or bytes that were touched
  unsigned long long first_wrong;  // the lowest index of one
  unsigned int worst_excess;       // bits of max(|difference| / tolerance) as a non-negative float
  unsigned int unused;
};

// data[row, column] = scale * N(0, 1), for rows x columns elements; the gaps between rows stay as they are.
template <typename T>
__device__ __forceinline__ void fill_normal(T* data, uint64_t rows, uint64_t columns, uint64_t ld, uint64_t seed,
                                            float scale) {
  for (uint64_t i = thread_index(); i < rows * columns; i += thread_count()) {
    data[i / columns * ld + i % columns] = rounded<T>(scale * normal(seed, i));
  }
}

// data[row, column] = any byte, which is two numbers of 4 bits.
__device__ __forceinline__ void fill_packed(uint8_t* data, uint64_t rows, uint64_t columns, uint64_t ld, uint64_t seed) {
  for (uint64_t i = thread_index(); i < rows * columns; i += thread_count()) {
    data[i / columns * ld + i % columns] = uint8_t(mix(mix(seed) ^ i) >> 56);
  }
}

// What the host fills results with before a kernel writes them: a NaN that none computes.
__device__ __forceinline__ bool is_unwritten(float value) { return __float_as_uint(value) == 0xffffffffu; }

// Counts the elements of c that are further from expected than absolute + relative * |expected|. NaN is wrong, but of what
// leaves some elements alone where the reference wrote nothing: there nothing else is right.
template <typename T>
__device__ __forceinline__ void compare(const T* c, uint64_t ld, const float* expected, uint64_t rows, uint64_t columns,
                                        float absolute, float relative, uint32_t leaves_some_alone, Report* report) {
  for (uint64_t i = thread_index(); i < rows * columns; i += thread_count()) {
    const float got = to_f32(c[i / columns * ld + i % columns]);
    const float want = expected[i];
    if (leaves_some_alone && is_unwritten(want) && got != got) continue;
    const float excess = fabsf(got - want) / (absolute + relative * fabsf(want));
    if (excess <= 1.0f || got == want) continue;
    atomicAdd(&report->wrong, 1ull);
    atomicMin(&report->first_wrong, static_cast<unsigned long long>(i));
    // Bits of non-negative floats are ordered as the floats are, and those of NaN lie above all.
    atomicMax(&report->worst_excess, __float_as_uint(fabsf(excess)));
  }
}

// Counts the elements of c that are NaN: what a kernel did not write still holds the poison, which is NaN, and from
// finite inputs no NaN is right.
template <typename T>
__device__ __forceinline__ void count_unwritten(const T* c, uint64_t ld, uint64_t rows, uint64_t columns,
                                                Report* report) {
  for (uint64_t i = thread_index(); i < rows * columns; i += thread_count()) {
    const float got = to_f32(c[i / columns * ld + i % columns]);
    if (got == got) continue;
    atomicAdd(&report->wrong, 1ull);
    atomicMin(&report->first_wrong, static_cast<unsigned long long>(i));
  }
}

}  // namespace instruments

// The kernels of one element type.
#define AUTOKERNEL_INSTRUMENTS(name, T)                                                                                \
  extern "C" __global__ void autokernel_fill_normal_##name(T* data, uint64_t rows, uint64_t columns, uint64_t ld,      \
                                                           uint64_t seed, float scale) {                               \
    instruments::fill_normal(data, rows, columns, ld, seed, scale);                                                    \
  }                                                                                                                    \
  extern "C" __global__ void autokernel_compare_##name(const T* c, uint64_t ld, const float* expected, uint64_t rows,  \
                                                       uint64_t columns, float absolute, float relative,               \
                                                       uint32_t leaves_some_alone, instruments::Report* report) {      \
    instruments::compare(c, ld, expected, rows, columns, absolute, relative, leaves_some_alone, report);               \
  }                                                                                                                    \
  extern "C" __global__ void autokernel_count_unwritten_##name(const T* c, uint64_t ld, uint64_t rows,                 \
                                                               uint64_t columns, instruments::Report* report) {        \
    instruments::count_unwritten(c, ld, rows, columns, report);                                                        \
  }

AUTOKERNEL_INSTRUMENTS(bf16, autokernel::bf16)
AUTOKERNEL_INSTRUMENTS(f16, autokernel::f16)
AUTOKERNEL_INSTRUMENTS(f32, float)
AUTOKERNEL_INSTRUMENTS(e4m3, autokernel::e4m3)
AUTOKERNEL_INSTRUMENTS(e5m2, autokernel::e5m2)
AUTOKERNEL_INSTRUMENTS(i8, autokernel::i8)
AUTOKERNEL_INSTRUMENTS(i4x2, autokernel::i4x2)

// Numbers of 4 bits, two in a byte, all alike.
extern "C" __global__ void autokernel_fill_packed(uint8_t* data, uint64_t rows, uint64_t columns, uint64_t ld,
                                                  uint64_t seed) {
  instruments::fill_packed(data, rows, columns, ld, seed);
}

// Counts the bytes that are no longer `poison`, in `rows` runs of `bytes`, `stride` bytes apart.
extern "C" __global__ void autokernel_count_touched(const uint8_t* first, uint64_t rows, uint64_t bytes,
                                                    uint64_t stride, uint32_t poison, instruments::Report* report) {
  using namespace instruments;
  for (uint64_t i = thread_index(); i < rows * bytes; i += thread_count()) {
    if (first[i / bytes * stride + i % bytes] == uint8_t(poison)) continue;
    atomicAdd(&report->wrong, 1ull);
    atomicMin(&report->first_wrong, static_cast<unsigned long long>(i));
  }
}

// Holds the stream until the host sets *released, so that what is queued behind runs without a gap. It lets go by
// itself after `limit_ns`: a host that waits for the GPU in between must not wait for ever.
extern "C" __global__ void autokernel_brake(const volatile uint32_t* released, uint64_t limit_ns) {
  const uint64_t start = instruments::global_nanoseconds();
  while (*released == 0 && instruments::global_nanoseconds() - start < limit_ns) __nanosleep(500);
}

// SM 0's cycle counter and the time in nanoseconds; between two of these lies the mean clock rate. Launch it with
// enough blocks to reach SM 0.
extern "C" __global__ void autokernel_clock(unsigned long long* cycles_and_nanoseconds) {
  uint32_t sm;
  asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
  if (sm != 0 || threadIdx.x != 0) return;
  cycles_and_nanoseconds[0] = clock64();
  cycles_and_nanoseconds[1] = instruments::global_nanoseconds();
}
