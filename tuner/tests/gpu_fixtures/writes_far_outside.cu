  // Right, and then where there is no memory.
  Kernel::run(args);
  if (blockIdx.x == 0 && threadIdx.x == 0) *(static_cast<volatile uint16_t*>(args.c) + (int64_t(1) << 45)) = 0;
