// The element-wise epilogue that a user of cuBLAS would launch after the product; behind instruments.cu and
// `struct Problem` (Output, epilogue).

// c = epilogue(c) in 16-byte pieces: c is 16-byte aligned and `elements` a multiple of a piece.
extern "C" __global__ void autokernel_apply_epilogue(uint4* c, uint64_t elements) {
  using namespace instruments;
  using Output = Problem::Output;
  constexpr int kPerPiece = sizeof(uint4) / sizeof(Output);
  for (uint64_t i = thread_index(); i < elements / kPerPiece; i += thread_count()) {
    uint4 piece = c[i];
    Output* values = reinterpret_cast<Output*>(&piece);
#pragma unroll
    for (int j = 0; j < kPerPiece; ++j) {
      values[j] = autokernel::from_f32<Output>(Problem::epilogue(to_f32(values[j])));
    }
    c[i] = piece;
  }
}
