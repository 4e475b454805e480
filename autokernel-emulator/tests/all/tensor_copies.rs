//! TMA: boxes of one to five dimensions, every swizzle, what lies outside, loads and stores.

use autokernel_emulator::{
    Arch, Element, FaultKind, Fill, Gpu, HANDLE_BYTES, Launch, Module, Options, RunError, Swizzle, TensorMap,
};

/// The largest box of the tests, in bytes.
const BOX: usize = 4096;

/// Loads a box, copies it word by word to `out`, and stores it again through the second map at the same place.
fn kernel(dimensions: usize, bytes: usize) -> String {
    let registers: Vec<String> = (0..dimensions).map(|at| format!("%c{at}")).collect();
    let loads: String = (0..dimensions).map(|at| format!("ld.param.b32 %c{at}, [at+{}];\n", 4 * at)).collect();
    let at = registers.join(", ");
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128], .param .u64 out, .param .align 4 .b8 at[20])\n{{\n\
         .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b32 %c<5>; .reg .b64 %rd<8>;\n\
         .shared .align 1024 .b8 tile[{BOX}]; .shared .align 8 .b64 barrier;\n{loads}\
         ld.param.u64 %rd0, [out]; mov.u32 %r1, tile; mov.u32 %r2, barrier;\n\
         mov.b64 %rd1, from; cvta.param.u64 %rd1, %rd1; mov.b64 %rd2, to; cvta.param.u64 %rd2, %rd2;\n\
         mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {bytes};\n\
         cp.async.bulk.tensor.{dimensions}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {{{at}}}], [%r2];\n\
         again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra again;\n\
         mov.u32 %r3, 0;\n\
         next: add.u32 %r4, %r1, %r3; ld.shared.b32 %r5, [%r4]; cvt.u64.u32 %rd3, %r3; add.s64 %rd3, %rd0, %rd3;\n\
         st.global.b32 [%rd3], %r5; add.u32 %r3, %r3, 4; setp.lt.u32 %p2, %r3, {bytes}; @%p2 bra next;\n\
         cp.async.bulk.tensor.{dimensions}d.global.shared::cta.tile.bulk_group [%rd2, {{{at}}}], [%r1];\n\
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nret;\n}}\n"
    )
}

/// A tensor of 16-bit numbers, each its own index.
struct Tensor {
    dimensions: Vec<u64>,
    extents: Vec<u32>,
    swizzle: Swizzle,
    fill: Fill,
    at: Vec<i32>,
}

impl Tensor {
    fn strides(&self) -> Vec<u64> {
        let mut bytes = 2 * self.dimensions[0].next_multiple_of(8);
        self.dimensions[1..]
            .iter()
            .map(|extent| {
                let stride = bytes;
                bytes *= extent;
                stride
            })
            .collect()
    }

    fn bytes(&self) -> usize {
        2 * self.extents.iter().product::<u32>() as usize
    }

    fn memory_bytes(&self) -> u64 {
        match self.strides().last() {
            Some(stride) => stride * self.dimensions.last().unwrap(),
            None => 2 * self.dimensions[0].next_multiple_of(8),
        }
    }

    fn map(&self, base: u64) -> TensorMap {
        TensorMap {
            base,
            element: Element::Bf16,
            dimensions: self.dimensions.clone(),
            strides: self.strides(),
            extents: self.extents.clone(),
            swizzle: self.swizzle,
            fill: self.fill,
        }
    }

    /// Byte offset in memory of an element of the box, if it is inside.
    fn offset(&self, mut element: u32) -> Option<u64> {
        let strides: Vec<u64> = [2].into_iter().chain(self.strides()).collect();
        let mut offset = 0;
        for (((extent, dimension), start), stride) in
            self.extents.iter().zip(&self.dimensions).zip(&self.at).zip(strides)
        {
            let index = u64::try_from(i64::from(*start) + i64::from(element % extent)).ok()?;
            if index >= *dimension {
                return None;
            }
            element /= extent;
            offset += index * stride;
        }
        Some(offset)
    }

    /// Where the swizzle puts a byte of the box, which begins at a multiple of 1024.
    fn swizzled(&self, byte: usize) -> usize {
        let mask = match self.swizzle {
            Swizzle::None => 0,
            Swizzle::Bytes32 => 1,
            Swizzle::Bytes64 => 3,
            Swizzle::Bytes128 => 7,
        };
        byte ^ (((byte / 128) & mask) * 16)
    }

    /// Loads and stores the box; gives what was loaded, what memory held and what it then holds.
    fn copied(&self) -> Result<[Vec<u8>; 3], RunError> {
        self.copied_by(&kernel(self.dimensions.len(), self.bytes()))
    }

    fn copied_by(&self, kernel: &str) -> Result<[Vec<u8>; 3], RunError> {
        let elements = (self.memory_bytes() / 2) as u16;
        let source: Vec<u8> = (0..elements).flat_map(u16::to_le_bytes).collect();
        let mut gpu = Gpu::new(Arch::Sm90a);
        let from = gpu.upload("from", &source).unwrap();
        let to = gpu.upload("to", &vec![0xee; source.len()]).unwrap();
        let out = gpu.alloc_named("out", BOX as u64).unwrap();

        let mut parameters: Vec<u8> = Vec::new();
        parameters.extend(gpu.encode(&self.map(from.0)).unwrap());
        parameters.extend(gpu.encode(&self.map(to.0)).unwrap());
        parameters.extend(out.0.to_le_bytes());
        parameters.extend(self.at.iter().flat_map(|at| at.to_le_bytes()));
        parameters.resize(2 * HANDLE_BYTES + 8 + 20, 0);
        let module = Module::parse(kernel).unwrap();
        let launch = Launch::new([1; 3], [1; 3], parameters);
        gpu.launch(&module, "k", &launch, &Options::default())?;
        let loaded = gpu.read(out, self.bytes() as u64).unwrap();
        let got = gpu.read(to, source.len() as u64).unwrap();
        Ok([loaded, source, got])
    }

    fn check(&self) {
        let [loaded, source, got] = self.copied().unwrap_or_else(|error| panic!("{error}"));
        let mut stored = vec![0xee; source.len()];
        let outside: [u8; 2] = if self.fill == Fill::Nan { [0xff, 0x7f] } else { [0, 0] };
        for element in 0..self.bytes() / 2 {
            let at = self.swizzled(2 * element);
            let expected = match self.offset(element as u32) {
                Some(offset) => {
                    let offset = offset as usize;
                    stored[offset..offset + 2].copy_from_slice(&source[offset..offset + 2]);
                    &source[offset..offset + 2]
                }
                None => &outside[..],
            };
            assert_eq!(&loaded[at..at + 2], expected, "element {element} of the box");
        }
        // A store writes whole units of 16 bytes: what pads a row is the box's own filling there.
        let row = 2 * self.dimensions[0] as usize;
        let stride = self.strides().first().map_or(row, |stride| *stride as usize);
        for (at, (got, expected)) in got.iter().zip(&stored).enumerate() {
            assert!(got == expected || at % stride >= row, "byte {at} of memory is {got:#x}, expected {expected:#x}");
        }
    }
}

fn plain(dimensions: &[u64], extents: &[u32], at: &[i32]) -> Tensor {
    let (dimensions, extents, at) = (dimensions.to_vec(), extents.to_vec(), at.to_vec());
    Tensor { dimensions, extents, swizzle: Swizzle::None, fill: Fill::Zeros, at }
}

#[test]
fn boxes_of_one_to_five_dimensions_arrive_and_go_back() {
    plain(&[100], &[64], &[8]).check();
    plain(&[40, 9], &[16, 4], &[8, 2]).check();
    plain(&[24, 5, 4], &[8, 3, 2], &[8, 1, 1]).check();
    plain(&[16, 4, 3, 5], &[8, 2, 2, 3], &[0, 1, 1, 2]).check();
    plain(&[16, 3, 2, 4, 3], &[16, 2, 1, 2, 2], &[0, 1, 1, 2, 1]).check();
}

#[test]
fn what_lies_outside_is_filled_and_not_stored() {
    plain(&[40, 9], &[16, 4], &[32, 7]).check();
    plain(&[40, 9], &[16, 4], &[-8, -2]).check();
    plain(&[24, 5, 4], &[8, 3, 2], &[0, 4, -1]).check();
    plain(&[40, 9], &[16, 4], &[200, 0]).check();
    Tensor { fill: Fill::Nan, ..plain(&[40, 9], &[16, 4], &[32, 7]) }.check();
}

#[test]
fn rows_that_end_inside_a_unit_are_filled_to_its_end() {
    plain(&[37, 9], &[16, 4], &[32, 2]).check();
}

#[test]
fn every_swizzle_moves_units_by_its_rows() {
    for (swizzle, columns) in [(Swizzle::Bytes32, 16), (Swizzle::Bytes64, 32), (Swizzle::Bytes128, 64)] {
        Tensor { swizzle, ..plain(&[80, 40], &[columns, 16], &[8, 3]) }.check();
        Tensor { swizzle, ..plain(&[80, 5, 9], &[columns, 3, 5], &[16, 1, 6]) }.check();
    }
}

#[test]
fn a_box_that_begins_inside_of_16_bytes_of_a_row_is_a_fault_with_and_without_a_swizzle() {
    let fault = |tensor: Tensor| match tensor.copied() {
        Err(RunError::Fault(fault)) => Some(fault),
        Err(error) => panic!("{error}"),
        Ok(_) => None,
    };
    for swizzle in [Swizzle::None, Swizzle::Bytes128] {
        for start in -9..10 {
            let fault = fault(Tensor { swizzle, ..plain(&[80, 40], &[64, 16], &[start, 3]) });
            let expected = (start % 8 != 0).then(|| FaultKind::BoxStart { offset: i64::from(2 * start) });
            assert_eq!(fault.as_ref().map(|fault| fault.kind.clone()), expected, "{swizzle:?}, element {start}");
        }
    }
    let text = fault(plain(&[100], &[64], &[3])).unwrap().to_string();
    assert!(text.contains("6 bytes into a row of its tensor; TMA takes multiples of 16"), "{text}");
    assert!(fault(plain(&[24, 5, 4], &[8, 3, 2], &[8, 1, 1])).is_none(), "other coordinates are any");
}

#[test]
fn stores_that_nothing_orders_race_unless_they_leave_the_same_bytes() {
    let once = "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd2, {%c0}], [%r1];\n";
    let stored_again = |place: &str| {
        let again = format!("{once}cp.async.bulk.commit_group;\nadd.u32 %c0, %c0, {place};\n{once}");
        let tensor = plain(&[100], &[64], &[8]);
        tensor.copied_by(&kernel(1, tensor.bytes()).replace(once, &again))
    };
    stored_again("0").unwrap();
    for place in ["8", "-8"] {
        let Err(RunError::Fault(fault)) = stored_again(place) else { panic!("no race {place} elements on") };
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
    }
}
