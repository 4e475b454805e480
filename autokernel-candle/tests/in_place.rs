//! Tensors that kernels write over, and several that one launch writes.

mod common;

use autokernel::{Column, Index, Matrix, Scalar, bf16};
use autokernel_candle::{Error, Linear, RmsNorm, SwiGlu, read, update, write_three, write_two};
use candle_core::{DType, Device, Module, Result, Tensor};
use candle_nn::{VarBuilder, VarMap};
use common::{assert_close, random, wide};

/// Rows go to their slots of a cache.
#[autokernel::rows]
fn store(k: &Matrix<bf16>, slots: &Index, cache: &mut Matrix<bf16>) {
    cache[slots] = k;
}

/// The residual stays where it is.
#[autokernel::rows]
fn add(x: &mut Matrix<bf16>, skip: &Matrix<bf16>, factor: &Scalar<f32>) {
    x += skip * factor;
}

/// Three results of one reading.
#[autokernel::rows]
fn scaled(x: &Matrix<bf16>, largest: &mut Column<f32>, wide: &mut Matrix<f32>, out: &mut Matrix<bf16>) {
    let of_row = row_max(x.abs());
    largest = of_row;
    wide = x;
    out = x / of_row;
}

#[test]
fn rows_go_into_a_part_of_a_cache_and_the_rest_of_it_stays() -> Result<()> {
    // Keys of one head among those of three.
    let cache = random((6, 3, 4), DType::BF16, 1);
    let (before, head) = (cache.copy()?, cache.narrow(1, 1, 1)?.squeeze(1)?);
    let (k, slots) = (random((2, 4), DType::BF16, 2), Tensor::new(&[5u32, 2], &Device::Cpu)?);
    update::<bf16>(&head, |cache| {
        assert_eq!(cache.dims(), [6, 4]);
        let (k, slots) = (read(&k), read(&slots));
        Ok(store::launch(k.matrix::<bf16>()?, slots.index::<u32>()?, cache.matrix(6, 4)?)?)
    })?;
    let (expected, cache) = (wide(&before), wide(&cache));
    for row in 0..6 {
        for head in 0..3 {
            let stored = [5, 2].iter().position(|slot| *slot == row).filter(|_| head == 1);
            let expected = match stored {
                Some(at) => wide(&k).get(at)?,
                None => expected.get(row)?.get(head)?,
            };
            assert_eq!(cache.get(row)?.get(head)?.to_vec1::<f32>()?, expected.to_vec1::<f32>()?, "{row}, {head}");
        }
    }
    Ok(())
}

#[test]
fn a_sum_stays_where_it_is_and_whoever_shares_the_memory_sees_it() -> Result<()> {
    let (x, skip) = (random((2, 3, 8), DType::BF16, 1), random((6, 8), DType::BF16, 2));
    let factor = Tensor::new(2f32, &Device::Cpu)?;
    let (before, seen) = (x.copy()?, x.reshape((6, 8))?);
    update::<bf16>(&x, |x| {
        let (skip, factor) = (read(&skip), read(&factor));
        Ok(add::launch(x.matrix(6, 8)?, skip.matrix::<bf16>()?, factor.scalar::<f32>()?)?)
    })?;
    assert_close(&seen, &(wide(&before).reshape((6, 8))? + (wide(&skip) * 2.0)?)?);
    Ok(())
}

#[test]
fn what_cannot_be_updated_is_refused_with_the_remedy_and_leaves_the_tensor_usable() -> Result<()> {
    let x = random((2, 4), DType::BF16, 1);
    let refused = |told: candle_core::Result<()>, remedy: &str| {
        let text = told.unwrap_err().to_string();
        assert!(text.contains(remedy), "{text}");
    };
    refused(update::<f32>(&x, |_| Ok(())), "`to_dtype`");
    refused(update::<bf16>(&x, |_| read(&x).matrix::<bf16>().map(|_| ())), "`&mut Matrix`");
    refused(update::<bf16>(&x, |_| Ok(update::<bf16>(&x, |_| Ok(()))?)), "being updated");
    refused(update::<bf16>(&x.t()?, |x| x.matrix(4, 2).map(|_| ())), "`contiguous`");
    refused(update::<bf16>(&x.narrow(1, 0, 2)?, |x| x.matrix(1, 4).map(|_| ())), "gaps");
    refused(update::<bf16>(&x.narrow(1, 0, 1)?, |x| x.column().map(|_| ())), "gaps");
    let one = random((1, 4), DType::BF16, 1);
    assert!(update::<bf16>(&one.broadcast_as((3, 4))?, |_| Ok(())).is_err());
    assert!(read(&x).matrix::<bf16>().is_ok());
    update::<bf16>(&x, |_| Ok(()))
}

#[test]
fn views_of_a_target_have_the_shape_and_the_strides_of_its_tensor() -> Result<()> {
    let whole = Tensor::zeros((2, 3, 4, 8), DType::F32, &Device::Cpu)?;
    update::<f32>(&whole.narrow(2, 1, 2)?, |part| {
        assert_eq!(part.heads([2, 3, 2, 8], [96, 32, 8])?.shape(), [2, 3, 2, 8]);
        Ok(())
    })?;
    update::<f32>(&whole.get(1)?.narrow(1, 1, 2)?, |part| {
        let batch = part.batch([3, 2, 8])?;
        assert_eq!((batch.shape(), batch.strides()), ([3, 2, 8], [32, 8]));
        Ok(())
    })?;
    let other = update::<f32>(&whole.get(1)?.narrow(1, 1, 2)?, |part| part.batch([2, 3, 8]).map(|_| ()));
    assert!(other.unwrap_err().to_string().contains("Reshape"));
    update::<f32>(&whole, |all| {
        assert_eq!(all.batch([6, 4, 8])?.strides(), [32, 8]);
        Ok(())
    })
}

#[test]
fn page_tables_numbers_and_rows_of_batches_are_read_where_they_lie() -> Result<()> {
    let table = Tensor::new(&[[4u32, 0, 7], [1, 2, 7]], &Device::Cpu)?;
    let part = table.narrow(1, 0, 2)?;
    let reader = read(&part);
    let pages = reader.page_table::<u32>()?;
    assert_eq!((pages.sequences(), pages.pages()), (2, 2));
    assert!(matches!(reader.page_table::<i32>(), Err(Error::Type { .. })));

    let numbers = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
    assert_eq!(read(&numbers.get(1)?).scalar::<f32>()?.get().unwrap(), 2.0);
    assert!(matches!(read(&numbers).scalar::<f32>(), Err(Error::Shape { .. })));

    let biases = random((2, 5), DType::F32, 1).narrow(1, 1, 3)?;
    assert!(format!("{:?}", read(&biases).row_batch::<f32>()?).contains("2x3"));
    assert!(format!("{:?}", read(&biases).column_batch::<f32>()?).contains("2x3"));
    Ok(())
}

#[test]
fn one_launch_writes_two_tensors_or_three() -> Result<()> {
    let x = random((5, 7), DType::BF16, 3);
    let (largest, out, copy) = write_three::<f32, bf16, f32>(x.device(), 5, (5, 7), (5, 7), |largest, out, copy| {
        Ok(scaled::launch(read(&x).matrix::<bf16>()?, largest.column()?, copy.matrix(5, 7)?, out.matrix(5, 7)?)?)
    })?;
    assert_eq!(copy.to_vec2::<f32>()?, wide(&x).to_vec2::<f32>()?);
    assert_eq!(largest.to_vec1::<f32>()?, wide(&x).abs()?.max(1)?.to_vec1::<f32>()?);
    assert_close(&out, &wide(&x).broadcast_div(&largest.unsqueeze(1)?)?);

    let refused = write_two::<bf16, f32>(x.device(), (5, 7), 4, |out, largest| {
        let (out, largest) = (out.matrix(5, 7)?, largest.column()?);
        let copy = &mut autokernel::Matrix::zeros(&autokernel::Device::cpu(), 5, 7)?;
        Ok(scaled::launch(read(&x).matrix::<bf16>()?, largest, copy, out)?)
    });
    assert!(refused.unwrap_err().to_string().contains('4'), "of another number of rows");
    Ok(())
}

#[test]
fn layers_are_read_from_a_model_as_candles_are() -> Result<()> {
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, DType::F32, &Device::Cpu);
    let x = random((3, 8), DType::F32, 1);
    let theirs = candle_nn::linear(8, 6, vb.pp("a"))?.forward(&x)?;
    assert_close(&Linear::load(8, 6, vb.pp("a"))?.forward(&x)?, &theirs);
    let theirs = candle_nn::linear_no_bias(8, 6, vb.pp("b"))?.forward(&x)?;
    assert_close(&Linear::load_no_bias(8, 6, vb.pp("b"))?.forward(&x)?, &theirs);
    let theirs = candle_nn::rms_norm(8, 1e-5, vb.pp("c"))?.forward(&x)?;
    assert_close(&RmsNorm::load(8, 1e-5, vb.pp("c"))?.forward(&x)?, &theirs);

    let (gate, up) = (
        candle_nn::linear_no_bias(8, 6, vb.pp("mlp.gate_proj"))?,
        candle_nn::linear_no_bias(8, 6, vb.pp("mlp.up_proj"))?,
    );
    let theirs = (gate.forward(&x)?.silu()? * up.forward(&x)?)?;
    assert_close(&SwiGlu::load(8, 6, vb.pp("mlp"))?.forward(&x)?, &theirs);
    assert!(Linear::load(8, 7, vb.pp("a")).is_err(), "of another shape");
    Ok(())
}
