  // Never ends.
  (void)args;
  for (;;) __nanosleep(1000);
