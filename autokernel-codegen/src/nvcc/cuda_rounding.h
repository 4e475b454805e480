
// Functions that few kernels call, behind what stands before every one: those whose text names none of them keep their place in the cache.
#if __CUDACC_VER_MAJOR__ == 13
#define AUTOKERNEL_BUILTIN extern "C" __attribute__((device)) __attribute__((device_builtin))
AUTOKERNEL_BUILTIN float floorf(float);
AUTOKERNEL_BUILTIN float rintf(float);
AUTOKERNEL_BUILTIN float ceilf(float);
AUTOKERNEL_BUILTIN float truncf(float);
AUTOKERNEL_BUILTIN float fmodf(float, float);
#undef AUTOKERNEL_BUILTIN
#endif
