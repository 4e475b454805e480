//! Views of tensors, for kernels of a crate's own.

mod common;

use autokernel::{Index, Matrix, bf16};
use autokernel_candle::{Error, read, write};
use candle_core::{DType, Device, Result, Tensor};
use common::{assert_close, random, wide};

/// Rows of a table, each scaled.
#[autokernel::rows]
fn embed(table: &Matrix<bf16>, ids: &Index, scale: &autokernel::Column<f32>, out: &mut Matrix<bf16>) {
    out = table[ids] * scale;
}

#[test]
fn a_kernel_of_ones_own_reads_tensors_in_place_and_writes_a_new_one() -> Result<()> {
    let table = random((9, 24), DType::BF16, 1).narrow(1, 3, 10)?;
    let ids = Tensor::new(&[8u32, 0, 3], &Device::Cpu)?;
    let scale = Tensor::new(&[1f32, 2.0, -1.0], &Device::Cpu)?;
    let out = write::<bf16>(&Device::Cpu, (3, 10), |out| {
        let (table, ids, scale) = (read(&table), read(&ids), read(&scale));
        embed::launch(table.matrix::<bf16>()?, ids.index::<u32>()?, scale.column::<f32>()?, out.matrix(3, 10)?)?;
        Ok(())
    })?;
    let expected = wide(&table).index_select(&ids, 0)?.broadcast_mul(&scale.unsqueeze(1)?)?;
    assert_close(&out, &expected);
    Ok(())
}

#[test]
fn what_a_kernel_does_not_take_is_refused_with_the_remedy() -> Result<()> {
    let x = random((4, 6), DType::BF16, 1);
    for (error, remedy) in [
        (read(&x).matrix::<f32>().unwrap_err(), "`to_dtype`"),
        (read(&x.t()?).matrix::<bf16>().unwrap_err(), "`contiguous`"),
        (read(&x).row::<bf16>().unwrap_err(), "Reshape"),
        (read(&x).heads::<bf16>().unwrap_err(), "Reshape"),
    ] {
        assert!(error.to_string().contains(remedy), "{error}");
    }
    let error = write::<bf16>(&Device::Cpu, (2, 2), |out| out.matrix(3, 3).map(|_| ())).unwrap_err();
    assert!(error.to_string().contains("4 elements"), "{error}");
    assert!(matches!(read(&x).batch::<bf16>(), Err(Error::Shape { .. })));
    Ok(())
}
