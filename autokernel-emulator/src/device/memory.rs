//! Global memory: allocations far enough apart that a wrong address meets none.

use std::fmt;

/// An address in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevicePointer(pub u64);

impl DevicePointer {
    /// The address `bytes` further.
    pub fn offset(self, bytes: u64) -> DevicePointer {
        DevicePointer(self.0.wrapping_add(bytes))
    }
}

impl fmt::Display for DevicePointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// An access of the host that no allocation allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The range does not lie inside one allocation.
    #[error("{bytes} bytes at {address} are not inside one allocation; copy within the range that `alloc` returned")]
    OutOfBounds {
        /// The first byte.
        address: DevicePointer,
        /// How many.
        bytes: u64,
    },
    /// Not the start of an allocation that is alive.
    #[error("{0} is not the start of an allocation; free what `alloc` returned, once")]
    NotAllocated(DevicePointer),
    /// More memory than the emulated GPU has.
    #[error("{0} bytes do not fit the emulated GPU's memory")]
    TooLarge(u64),
}

/// One allocation. A byte of `shadow` describes who touched the byte of `bytes` at its place.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub start: u64,
    pub bytes: Vec<u8>,
    pub shadow: Vec<u32>,
    pub name: Option<String>,
    alive: bool,
}

/// Every allocation, in the order of addresses.
#[derive(Debug, Default)]
pub(crate) struct GlobalMemory {
    allocations: Vec<Allocation>,
    end: u64,
    /// Of the allocation that was found last.
    last: usize,
}

/// The first address, and the distance that allocations keep: a GPU's allocator aligns to 256.
const FIRST: u64 = 0x10_0000_0000;
const ALIGNMENT: u64 = 256;
const GAP: u64 = 1 << 16;
/// All memory there is: well below the windows of other state spaces.
const CAPACITY: u64 = 8 << 30;

/// Shadow of a byte that nobody wrote, and of one that the host wrote or an earlier launch.
pub(crate) const NEVER_WRITTEN: u32 = 0;
pub(crate) const WRITTEN_BEFORE: u32 = 1;

impl GlobalMemory {
    pub fn allocate(&mut self, bytes: u64, name: Option<String>) -> Result<DevicePointer, MemoryError> {
        let start = self.end.max(FIRST).next_multiple_of(ALIGNMENT);
        let used: u64 = self.allocations.iter().map(|allocation| allocation.bytes.len() as u64).sum();
        if bytes > CAPACITY - used.min(CAPACITY) {
            return Err(MemoryError::TooLarge(bytes));
        }
        self.end = start + bytes + GAP;
        let (bytes, shadow) = (vec![0xa5; bytes as usize], vec![NEVER_WRITTEN; bytes as usize]);
        self.allocations.push(Allocation { start, bytes, shadow, name, alive: true });
        Ok(DevicePointer(start))
    }

    /// Memory that holds `data`.
    pub fn upload(&mut self, name: &str, data: &[u8]) -> Result<DevicePointer, MemoryError> {
        let pointer = self.allocate(data.len() as u64, Some(name.to_owned()))?;
        self.write(pointer, data)?;
        Ok(pointer)
    }

    /// Copies bytes of the host.
    pub fn write(&mut self, to: DevicePointer, data: &[u8]) -> Result<(), MemoryError> {
        let bytes = data.len() as u64;
        let found = self.find(to.0, bytes).ok_or(MemoryError::OutOfBounds { address: to, bytes });
        let (allocation, offset) = found?;
        let range = offset..offset + data.len();
        if let Some(target) = allocation.bytes.get_mut(range.clone()) {
            target.copy_from_slice(data);
        }
        if let Some(shadow) = allocation.shadow.get_mut(range) {
            shadow.fill(WRITTEN_BEFORE);
        }
        Ok(())
    }

    pub fn free(&mut self, pointer: DevicePointer) -> Result<(), MemoryError> {
        let found = self.allocations.iter_mut().find(|allocation| allocation.start == pointer.0 && allocation.alive);
        let allocation = found.ok_or(MemoryError::NotAllocated(pointer))?;
        // Its address range stays: a later access is told to be of freed memory.
        (allocation.alive, allocation.bytes, allocation.shadow) = (false, Vec::new(), Vec::new());
        Ok(())
    }

    /// The allocation whose range, or whose gap behind it, holds `address`.
    fn index_of(&self, address: u64) -> Option<usize> {
        self.allocations.partition_point(|allocation| allocation.start <= address).checked_sub(1)
    }

    /// The allocation that holds all of `bytes` bytes at `address`, and where in it they begin.
    pub fn find(&mut self, address: u64, bytes: u64) -> Option<(&mut Allocation, usize)> {
        let holds = |allocation: &Allocation| {
            let offset = address.checked_sub(allocation.start)?;
            let end = offset.checked_add(bytes)?;
            (end <= allocation.bytes.len() as u64).then_some(offset as usize)
        };
        let cached = self.allocations.get(self.last).and_then(holds).map(|offset| (self.last, offset));
        let (index, offset) = match cached {
            Some(found) => found,
            None => {
                let index = self.index_of(address)?;
                (index, self.allocations.get(index).and_then(holds)?)
            }
        };
        self.last = index;
        Some((self.allocations.get_mut(index)?, offset))
    }

    /// What lies around an address that is in no allocation, for people.
    pub fn describe(&self, address: u64) -> String {
        let Some(allocation) = self.index_of(address).and_then(|index| self.allocations.get(index)) else {
            return "it lies before every allocation".to_owned();
        };
        let name = allocation.name.as_deref().unwrap_or("an allocation");
        let DevicePointer(start) = DevicePointer(allocation.start);
        if !allocation.alive {
            return format!("it lies in {name} at {start:#x}, which was freed");
        }
        let (offset, size) = (address - start, allocation.bytes.len());
        format!("it lies at byte {offset} of {name} at {start:#x}, which has {size} bytes")
    }

    /// What launches so far did is now known to all.
    pub fn settle(&mut self) {
        for shadow in self.allocations.iter_mut().flat_map(|allocation| &mut allocation.shadow) {
            *shadow = (*shadow).min(WRITTEN_BEFORE);
        }
    }

    pub fn allocations_mut(&mut self) -> impl Iterator<Item = &mut Allocation> {
        self.allocations.iter_mut()
    }
}
