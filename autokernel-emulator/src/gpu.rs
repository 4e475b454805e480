//! The emulated GPU.

use crate::device::{Arch, DevicePointer, GlobalMemory, HANDLE_BYTES, MemoryError, TensorMap, TensorMapError};
use crate::fault::RunError;
use crate::launch::{Launch, Options};
use crate::ptx::Module;
use crate::report::Report;
use crate::run;

/// An emulated GPU: memory that launches share, one after another.
#[derive(Debug)]
pub struct Gpu {
    arch: Arch,
    memory: GlobalMemory,
}

impl Gpu {
    /// A GPU with empty memory.
    pub fn new(arch: Arch) -> Gpu {
        Gpu { arch, memory: GlobalMemory::default() }
    }

    /// Its architecture.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Memory that nobody has written: a kernel that reads it faults. 256-byte aligned.
    ///
    /// # Errors
    /// More than the GPU has.
    pub fn alloc(&mut self, bytes: u64) -> Result<DevicePointer, MemoryError> {
        self.memory.allocate(bytes, None)
    }

    /// The same, with a name for messages.
    ///
    /// # Errors
    /// As [`Gpu::alloc`].
    pub fn alloc_named(&mut self, name: &str, bytes: u64) -> Result<DevicePointer, MemoryError> {
        self.memory.allocate(bytes, Some(name.to_owned()))
    }

    /// Memory that holds `data`.
    ///
    /// # Errors
    /// As [`Gpu::alloc`].
    pub fn upload(&mut self, name: &str, data: &[u8]) -> Result<DevicePointer, MemoryError> {
        self.memory.upload(name, data)
    }

    /// Gives memory back; a kernel that uses it later faults.
    ///
    /// # Errors
    /// `pointer` is not the start of an allocation that is alive.
    pub fn free(&mut self, pointer: DevicePointer) -> Result<(), MemoryError> {
        self.memory.free(pointer)
    }

    /// Copies bytes to the GPU.
    ///
    /// # Errors
    /// They do not lie inside one allocation.
    pub fn write(&mut self, to: DevicePointer, data: &[u8]) -> Result<(), MemoryError> {
        self.memory.write(to, data)
    }

    /// Copies bytes from the GPU, also bytes that nobody wrote.
    ///
    /// # Errors
    /// They do not lie inside one allocation.
    pub fn read(&mut self, from: DevicePointer, bytes: u64) -> Result<Vec<u8>, MemoryError> {
        let found = self.memory.find(from.0, bytes).ok_or(MemoryError::OutOfBounds { address: from, bytes });
        let (allocation, offset) = found?;
        Ok(allocation.bytes.get(offset..offset + bytes as usize).unwrap_or_default().to_vec())
    }

    /// Checks a description as the driver does, and gives the 128 bytes that stand for it in a kernel's parameters.
    ///
    /// # Errors
    /// What the hardware would refuse.
    pub fn encode(&self, map: &TensorMap) -> Result<[u8; HANDLE_BYTES], TensorMapError> {
        map.encode()
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// A launch that a GPU would refuse, or the first fault of the kernel.
    pub fn launch(
        &mut self,
        module: &Module,
        kernel: &str,
        launch: &Launch,
        options: &Options,
    ) -> Result<Report, RunError> {
        let report = run::launch(&mut self.memory, self.arch, module, kernel, launch, options);
        self.memory.settle();
        report
    }
}
