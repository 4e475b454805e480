//! Checked launches: those that look at the whole numbers among their operands first, which else the device alone reads.

use std::sync::atomic::{AtomicU8, Ordering};

use autokernel_core::{Each, Numbers, Size};

use crate::{AnyView, Argument, Device, Error, Result, Signature, driver};

/// Set to anything but `0`, launches of this process are checked.
pub const CHECKED_ENV: &str = "AUTOKERNEL_CHECKED";

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Turns checked launches on or off for this process, whatever `AUTOKERNEL_CHECKED` says.
///
/// A checked launch reads offsets of groups, counts and bounds of sequences, tables of pages, indices of rows and zero points of numbers of
/// 4 bits before it runs, and refuses numbers that are out of order or range ([`Error::Number`]). It waits for the GPU, so it is for tests and for finding the
/// cause of a wrong result; without it such a number touches nothing outside of the operands either, but is taken for the nearest that may
/// be, or for none. An index or a table of pages may say -1, on purpose: that picks none. Launches that a CUDA graph captures are
/// not checked, nor those with an operand of a stream that is captured.
///
/// ```
/// use autokernel_runtime::{is_checked, set_checked};
///
/// set_checked(true);
/// assert!(is_checked());
/// ```
pub fn set_checked(on: bool) {
    MODE.store(if on { ON } else { OFF }, Ordering::Relaxed);
}

/// Whether launches are checked.
pub fn is_checked() -> bool {
    match MODE.load(Ordering::Relaxed) {
        UNKNOWN => {
            let on = std::env::var_os(CHECKED_ENV).is_some_and(|value| !value.is_empty() && value != "0");
            // Another thread may have decided meanwhile: its word counts.
            let _ = MODE.compare_exchange(UNKNOWN, if on { ON } else { OFF }, Ordering::Relaxed, Ordering::Relaxed);
            MODE.load(Ordering::Relaxed) == ON
        }
        mode => mode == ON,
    }
}

/// Refuses whole numbers that say what is not there. The arguments fit the signature.
///
/// # Errors
/// [`Error::Number`] with the first one, or the driver's own error.
pub(crate) fn numbers(kernel: &str, signature: &Signature, arguments: &[Argument<'_>], device: &Device) -> Result<()> {
    if signature.numbers.is_empty() || is_captured(arguments, device)? {
        return Ok(());
    }
    // What writes them may still run on this stream.
    device.synchronize()?;
    let given = Given { kernel, signature, arguments };
    signature.numbers.iter().try_for_each(|numbers| given.check(numbers))
}

/// Whether a graph captures what is launched on `device`, or on the stream of an argument: neither can be waited for.
fn is_captured(arguments: &[Argument<'_>], device: &Device) -> Result<bool> {
    for stream in arguments.iter().filter_map(Argument::stream) {
        if driver::is_capturing(stream)? {
            return Ok(true);
        }
    }
    device.is_capturing()
}

/// A launch.
struct Given<'g, 'a> {
    kernel: &'g str,
    signature: &'g Signature,
    arguments: &'g [Argument<'a>],
}

impl Given<'_, '_> {
    fn check(&self, numbers: &Numbers) -> Result<()> {
        let (values, columns) = self.values(numbers.operand)?;
        let among = numbers.among.iter().map(|&size| self.size(size)).fold(1, u64::saturating_mul);
        let of_row = self.counted(numbers, columns)?;
        let mut before = None;
        for (at, &value) in values.iter().enumerate() {
            if at.checked_rem(columns).unwrap_or(0) >= of_row.get(at / columns.max(1)).copied().unwrap_or(columns) {
                continue;
            }
            let (least, most) = numbers.each.range(before, among);
            if !(least..=most).contains(&i64::from(value)) {
                let operand = self.signature.operands.get(usize::from(numbers.operand));
                let operand = operand.map_or(String::new(), |operand| operand.name.clone());
                return Err(Error::Number { kernel: self.kernel.to_owned(), operand, at, value, least, most });
            }
            before = Some(value).filter(|_| numbers.each == Each::Bounds);
        }
        Ok(())
    }

    /// How many numbers of each row count; nothing where all do.
    fn counted(&self, numbers: &Numbers, columns: usize) -> Result<Vec<usize>> {
        let Some(counted) = numbers.counted else { return Ok(Vec::new()) };
        let (amounts, _) = self.values(counted.by)?;
        let each_holds = self.size(counted.each_holds).max(1);
        let needed = |amount: i32| u64::from(amount.max(0).unsigned_abs()).div_ceil(each_holds);
        Ok(amounts
            .into_iter()
            .map(|amount| usize::try_from(needed(amount)).map_or(columns, |it| it.min(columns)))
            .collect())
    }

    /// The numbers of an operand, row by row, and how long a row is.
    fn values(&self, operand: u8) -> Result<(Vec<i32>, usize)> {
        match self.arguments.get(usize::from(operand)) {
            Some(argument @ Argument::Read(AnyView::I32(view))) => Ok((view.to_vec()?, argument.layout().columns)),
            Some(argument @ Argument::Read(AnyView::I8(view))) => {
                Ok((view.to_vec()?.into_iter().map(i32::from).collect(), argument.layout().columns))
            }
            _ => Ok((Vec::new(), 0)),
        }
    }

    fn size(&self, Size { operand, axis }: Size) -> u64 {
        let number = usize::from(operand);
        let (Some(operand), Some(argument)) = (self.signature.operands.get(number), self.arguments.get(number)) else {
            return 0;
        };
        let shape = argument.layout().shape();
        let first = shape.len().saturating_sub(operand.axes.len());
        shape.get(first + usize::from(axis)).map_or(0, |size| *size as u64)
    }
}

#[cfg(test)]
mod tests {
    use autokernel_core::{Counted, Dimension, OWN_AXIS};

    use super::*;
    use crate::{Dtype, Index, Matrix, Operand, PageTable, Passed, Role, dim};

    /// A table, whose rows are pages of 4 keys in its columns, and operands of whole numbers that `numbers` tells of.
    fn signature(numbers: Vec<Numbers>) -> Signature {
        let operand = |name: &str, dtype, axes: &[u8]| Operand {
            name: name.to_owned(),
            role: Role::Input,
            dtype,
            axes: axes.to_vec(),
            passed: Passed::ByAddress,
        };
        let operands = vec![
            operand("table", Dtype::F32, &[OWN_AXIS, 0]),
            operand("pages", Dtype::I32, &[1, OWN_AXIS]),
            operand("lengths", Dtype::I32, &[1]),
        ];
        let dims = ["page", "batch"].map(|name| Dimension { name: dim(name), known: None }).to_vec();
        Signature { dims, operands, numbers, ..Signature::default() }
    }

    const ROWS: Size = Size { operand: 0, axis: 0 };
    const PAGE: Size = Size { operand: 0, axis: 1 };

    fn checked(numbers: Vec<Numbers>, pages: &[i32], lengths: &[i32]) -> Result<(), String> {
        let device = Device::cpu();
        let table = Matrix::<f32>::zeros(&device, 5, 4).unwrap();
        let pages = PageTable::from_slice(&device, pages, lengths.len()).unwrap();
        let lengths = Index::from_slice(&device, lengths).unwrap();
        let arguments = [(&table).into(), pages.view().into(), lengths.view().into()];
        super::numbers("read", &signature(numbers), &arguments, &device).map_err(|error| error.to_string())
    }

    #[test]
    fn what_picks_is_one_of_those_that_are_there_or_none() {
        let picks = vec![Numbers::pick(2, ROWS)];
        assert_eq!(checked(picks.clone(), &[0, 0], &[4, 0]), Ok(()));
        assert_eq!(checked(picks.clone(), &[0, 0], &[4, -1]), Ok(()), "a row of padding");
        for wrong in [5, -2, i32::MIN, i32::MAX] {
            let text = checked(picks.clone(), &[0, 0], &[4, wrong]).unwrap_err();
            assert!(text.contains(&format!("`read`: number 1 of `lengths` is {wrong}, and may be -1 to 4")), "{text}");
        }
    }

    #[test]
    fn bounds_are_in_order_and_counts_need_not_be() {
        let bounds = |numbers: &[i32]| checked(vec![Numbers::bound(2, ROWS)], &[0, 0, 0], numbers);
        assert_eq!(bounds(&[0, 0, 5]), Ok(()));
        assert!(bounds(&[0, 3, 2]).unwrap_err().contains("number 2 of `lengths` is 2, and may be 3 to 5"));
        let counts = |numbers: &[i32]| checked(vec![Numbers::count(2, ROWS)], &[0, 0, 0], numbers);
        assert_eq!(counts(&[5, 3, 2]), Ok(()));
        assert!(counts(&[5, 6, 2]).unwrap_err().contains("number 1 of `lengths` is 6, and may be 0 to 5"));
    }

    #[test]
    fn of_a_table_those_pages_count_that_hold_the_keys_of_their_sequence() {
        let pages = Numbers { counted: Some(Counted { by: 2, each_holds: PAGE }), ..Numbers::pick(1, ROWS) };
        let lengths = Numbers { among: vec![Size { operand: 1, axis: 1 }, PAGE], ..Numbers::count(2, ROWS) };
        let checked = |table: &[i32], of: &[i32]| checked(vec![pages.clone(), lengths.clone()], table, of);
        assert_eq!(checked(&[4, -2, 0, 3], &[4, 8]), Ok(()), "a length of one page leaves the second unread");
        assert_eq!(checked(&[4, -1, 0, 3], &[5, 8]), Ok(()), "no page, which stands for zeros");
        let text = checked(&[4, -2, 0, 3], &[5, 8]).unwrap_err();
        assert!(text.contains("number 1 of `pages` is -2, and may be -1 to 4"), "{text}");
        let text = checked(&[4, 1, 0, 3], &[4, 9]).unwrap_err();
        assert!(text.contains("number 1 of `lengths` is 9, and may be 0 to 8"), "{text}");
    }

    #[test]
    fn where_nothing_is_there_none_alone_can_be_picked() {
        let nothing = Size { operand: 2, axis: 7 };
        assert_eq!(checked(vec![Numbers::pick(2, nothing)], &[0], &[-1]), Ok(()));
        let text = checked(vec![Numbers::pick(2, nothing)], &[0], &[0]).unwrap_err();
        assert!(text.contains("number 0 of `lengths` is 0, and may be -1 alone: there is nothing to pick"), "{text}");
    }
}
