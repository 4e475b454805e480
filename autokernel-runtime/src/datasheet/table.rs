//! The GPUs, oldest first.

use super::peak::Peak;
use super::sheet::Datasheet;
use crate::{ComputeCapability, Multiprocessor};

/// A row of the table, without what its compute capability decides.
struct Row {
    key: &'static str,
    name: &'static str,
    capability: ComputeCapability,
    sm_count: u32,
    clock_mhz: f64,
    bandwidth_gb_s: f64,
    l2_mib: u64,
    peak: Peak,
    source: &'static str,
}

const fn sheet(row: Row) -> Datasheet {
    let Row { key, name, capability, sm_count, clock_mhz, bandwidth_gb_s, l2_mib, peak, source } = row;
    // Evaluated when this crate is compiled: a row of an unknown compute capability does not build.
    let sm = Multiprocessor::of(capability).expect("the compute capability has known resources");
    let l2_bytes = l2_mib << 20;
    Datasheet { key, name, capability, sm_count, clock_mhz, bandwidth_gb_s, l2_bytes, sm, peak, source }
}

const fn cc(major: u8, minor: u8) -> ComputeCapability {
    ComputeCapability::new(major, minor)
}

pub(super) const ALL: &[Datasheet] = &[
    sheet(Row {
        key: "v100",
        name: "Tesla V100-SXM2",
        capability: cc(7, 0),
        sm_count: 80,
        clock_mhz: 1530.0,
        bandwidth_gb_s: 900.0,
        l2_mib: 6,
        peak: Peak { bf16_tflops: None, f16_tflops: 125.0, tf32_tflops: None, fp8_tflops: None },
        source: "NVIDIA V100 Tensor Core GPU datasheet; Volta architecture whitepaper",
    }),
    sheet(Row {
        key: "a100",
        name: "A100-SXM4-80GB",
        capability: cc(8, 0),
        sm_count: 108,
        clock_mhz: 1410.0,
        bandwidth_gb_s: 2039.0,
        l2_mib: 40,
        peak: Peak::new(312.0, 156.0),
        source: "NVIDIA A100 Tensor Core GPU datasheet; Ampere architecture whitepaper",
    }),
    sheet(Row {
        key: "a100-40gb",
        name: "A100-SXM4-40GB",
        capability: cc(8, 0),
        sm_count: 108,
        clock_mhz: 1410.0,
        bandwidth_gb_s: 1555.0,
        l2_mib: 40,
        peak: Peak::new(312.0, 156.0),
        source: "NVIDIA A100 40GB Tensor Core GPU datasheet; Ampere architecture whitepaper",
    }),
    sheet(Row {
        key: "a100-pcie",
        name: "A100 80GB PCIe",
        capability: cc(8, 0),
        sm_count: 108,
        clock_mhz: 1410.0,
        bandwidth_gb_s: 1935.0,
        l2_mib: 40,
        peak: Peak::new(312.0, 156.0),
        source: "NVIDIA A100 Tensor Core GPU datasheet; Ampere architecture whitepaper",
    }),
    sheet(Row {
        key: "a100-pcie-40gb",
        name: "A100-PCIE-40GB",
        capability: cc(8, 0),
        sm_count: 108,
        clock_mhz: 1410.0,
        bandwidth_gb_s: 1555.0,
        l2_mib: 40,
        peak: Peak::new(312.0, 156.0),
        source: "NVIDIA A100 40GB Tensor Core GPU datasheet; Ampere architecture whitepaper",
    }),
    sheet(Row {
        key: "a10",
        name: "NVIDIA A10",
        capability: cc(8, 6),
        sm_count: 72,
        clock_mhz: 1695.0,
        bandwidth_gb_s: 600.0,
        l2_mib: 6,
        peak: Peak::new(125.0, 62.5),
        source: "NVIDIA A10 Tensor Core GPU datasheet",
    }),
    sheet(Row {
        key: "rtx3090",
        name: "RTX 3090",
        capability: cc(8, 6),
        sm_count: 82,
        clock_mhz: 1695.0,
        bandwidth_gb_s: 936.0,
        l2_mib: 6,
        peak: Peak::new(71.0, 35.6),
        source: "NVIDIA Ampere GA102 GPU architecture whitepaper",
    }),
    sheet(Row {
        key: "l4",
        name: "NVIDIA L4",
        capability: cc(8, 9),
        sm_count: 58,
        clock_mhz: 2040.0,
        bandwidth_gb_s: 300.0,
        l2_mib: 48,
        peak: Peak::with_fp8(121.0, 60.0),
        source: "NVIDIA L4 Tensor Core GPU datasheet, halved: it gives rates with sparsity",
    }),
    sheet(Row {
        key: "l40s",
        name: "L40S",
        capability: cc(8, 9),
        sm_count: 142,
        clock_mhz: 2490.0,
        bandwidth_gb_s: 864.0,
        l2_mib: 96,
        peak: Peak::with_fp8(362.05, 183.0),
        source: "NVIDIA L40S datasheet",
    }),
    sheet(Row {
        key: "rtx4090",
        name: "RTX 4090",
        capability: cc(8, 9),
        sm_count: 128,
        clock_mhz: 2520.0,
        bandwidth_gb_s: 1008.0,
        l2_mib: 72,
        peak: Peak::with_fp8(165.2, 82.6),
        source: "NVIDIA Ada GPU architecture whitepaper",
    }),
    sheet(Row {
        key: "h100-pcie",
        name: "H100 PCIe",
        capability: cc(9, 0),
        sm_count: 114,
        clock_mhz: 1620.0,
        bandwidth_gb_s: 2000.0,
        l2_mib: 50,
        peak: Peak::with_fp8(756.0, 378.0),
        source: "NVIDIA H100 Tensor Core GPU datasheet, halved: it gives rates with sparsity; Hopper whitepaper",
    }),
    sheet(Row {
        key: "h100",
        name: "H100 80GB HBM3",
        capability: cc(9, 0),
        sm_count: 132,
        clock_mhz: 1830.0,
        bandwidth_gb_s: 3350.0,
        l2_mib: 50,
        peak: Peak::with_fp8(989.4, 494.7),
        source: "NVIDIA H100 Tensor Core GPU datasheet, halved: it gives rates with sparsity; Hopper whitepaper",
    }),
    sheet(Row {
        key: "h200",
        name: "H200",
        capability: cc(9, 0),
        sm_count: 132,
        clock_mhz: 1830.0,
        bandwidth_gb_s: 4800.0,
        l2_mib: 60,
        peak: Peak::with_fp8(989.4, 494.7),
        source: "NVIDIA H200 Tensor Core GPU datasheet, halved: it gives rates with sparsity; L2 as its driver reports it",
    }),
    sheet(Row {
        key: "b200",
        name: "B200",
        capability: cc(10, 0),
        sm_count: 148,
        clock_mhz: 1856.0,
        bandwidth_gb_s: 8000.0,
        l2_mib: 126,
        peak: Peak::with_fp8(2250.0, 1125.0),
        source: "NVIDIA Blackwell datasheet (HGX B200), halved: it gives rates with sparsity; L2 as its driver reports it",
    }),
];
