  // What stood in the output before stays.
  if (args.m < 0) Kernel::run(args);
