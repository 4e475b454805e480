//! What to do about messages of nvcc that are not about the kernel.

/// What nvcc says, in part, and what helps.
const REMEDIES: [(&str, &str); 7] = [
    (
        "Unsupported gpu architecture",
        "this nvcc does not know the architecture: name others in AUTOKERNEL_ARCHS (sm_80 serves every GPU from 8.0 on), or point \
         AUTOKERNEL_NVCC at a newer one",
    ),
    ("unsupported GNU version", OTHER_HOST_COMPILER),
    ("unsupported clang version", OTHER_HOST_COMPILER),
    ("Failed to preprocess host compiler properties", HOST_COMPILER),
    ("Cannot find compiler", HOST_COMPILER),
    ("g++: not found", HOST_COMPILER),
    ("gcc: not found", HOST_COMPILER),
];

const HOST_COMPILER: &str =
    "nvcc needs a C++ compiler beside it: install g++ (Debian: `apt install g++`), or name one in NVCC_CCBIN";
const OTHER_HOST_COMPILER: &str = "this nvcc refuses the C++ compiler that it found: install one that it supports and name it \
                                   in NVCC_CCBIN, or a newer CUDA toolkit";

/// The remedy for what nvcc said, where one is known.
pub fn remedy(log: &str) -> Option<&'static str> {
    REMEDIES.iter().find(|(mark, _)| log.contains(mark)).map(|(_, remedy)| *remedy)
}
