  // Right but for the first element.
  Kernel::run(args);
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x == 0) static_cast<uint16_t*>(args.c)[0] = 0x4248;
