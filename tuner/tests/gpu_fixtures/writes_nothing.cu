  // What stood in the output before stays.
  (void)args;
