  // Never ends.
  while (args.m > 0) __nanosleep(1000);
  Kernel::run(args);
