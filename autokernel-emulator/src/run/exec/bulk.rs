//! Bulk copies: issued here, finished later (PTX ISA, "Bulk copy", "Async-groups").

use super::Flow;
use crate::check::{Event, Proxy};
use crate::fault::Access;
use crate::isa::instruction::CopyOp;
use crate::isa::lanes::lanes_of;
use crate::isa::types::Space;
use crate::run::access::{Lane, aligned};
use crate::run::cluster::Cluster;
use crate::run::pending::{PendingCopy, Source, Target, Work};
use crate::run::place::Place;
use crate::run::stop::{Exec, refuse};
use crate::run::tally::Path;
use crate::run::warp::{BulkGroups, Wait};

impl Cluster<'_, '_> {
    pub fn bulk(&mut self, warp: usize, lanes: u32, pc: u32, op: &CopyOp) -> Exec<Flow> {
        for lane in lanes_of(lanes) {
            let by = Lane::weak(warp, lane, pc);
            match op {
                CopyOp::BulkCommit => self.groups(warp, lane).open += 1,
                CopyOp::BulkWait { pending, reads_only } => {
                    if let Some(wait) = self.wait_for_groups(warp, lane, *pending, *reads_only) {
                        return Ok(Flow::Retry(wait));
                    }
                }
                CopyOp::TensorLoad { to, map, at, barrier, multicast } => {
                    let tensor = self.tensor_box(by, map, at)?;
                    let bytes = tensor.bytes();
                    let to = self.addresses(warp, to)[lane];
                    aligned(lane, "shared", to, 128)?;
                    let barrier = self.mbarrier_of(by, barrier)?;
                    let ranks = multicast.map(|mask| self.value(warp, mask)[lane] as u16);
                    self.read_tensor(by, &tensor, barrier)?;
                    self.issue_loads(by, to, bytes, barrier, ranks, |_| Source::Tensor(tensor.clone()))?;
                }
                CopyOp::BulkPrefetch { from, bytes } => {
                    let from = self.addresses(warp, from)[lane];
                    let bytes = self.bulk_bytes(by, *bytes)?;
                    aligned(lane, "global", from, 16)?;
                    self.prefetch(by, from, u64::from(bytes))?;
                }
                CopyOp::TensorPrefetch { map, at } => {
                    let tensor = self.tensor_box(by, map, at)?;
                    self.prefetch_tensor(by, &tensor)?;
                }
                CopyOp::BulkToShared { .. } => self.issue_linear_load(by, op)?,
                CopyOp::TensorStore { map, at, from } => {
                    let tensor = self.tensor_box(by, map, at)?;
                    let from = self.addresses(warp, from)[lane];
                    aligned(lane, "shared", from, 128)?;
                    self.issue_store(by, from, tensor.bytes(), Target::Tensor(tensor))?;
                }
                CopyOp::BulkToGlobal { to, from, bytes } => {
                    let (to, from) = (self.addresses(warp, to)[lane], self.addresses(warp, from)[lane]);
                    let bytes = self.bulk_bytes(by, *bytes)?;
                    aligned(lane, "global", to, 16)?;
                    aligned(lane, "shared", from, 16)?;
                    self.issue_store(by, from, bytes, Target::Global(to))?;
                }
                CopyOp::StoreCounted { to, ty, values, barrier } => {
                    let bytes = ty.bytes() as usize;
                    let value = |source: &crate::isa::Source| self.value(warp, *source)[lane].to_le_bytes();
                    let data: Vec<u8> =
                        values.iter().flat_map(|source| value(source).into_iter().take(bytes)).collect();
                    let to = self.addresses(warp, to)[lane];
                    let barrier = self.mbarrier_of(by, barrier)?;
                    aligned(lane, "shared", to, data.len() as u64)?;
                    self.issue_loads(by, to, data.len() as u32, barrier, None, |_| Source::Registers(data.clone()))?;
                }
                _ => return refuse(lane, "not a bulk copy"),
            }
        }
        Ok(Flow::Next)
    }

    /// The size of a linear copy.
    fn bulk_bytes(&self, by: Lane, bytes: crate::isa::Source) -> Exec<u32> {
        let bytes = self.value(by.warp, bytes)[by.lane];
        if bytes == 0 || !bytes.is_multiple_of(16) || bytes > 1 << 20 {
            return refuse(by.lane, format!("a bulk copy of {bytes} bytes; multiples of 16 are allowed"));
        }
        Ok(bytes as u32)
    }

    fn issue_linear_load(&mut self, by: Lane, op: &CopyOp) -> Exec<()> {
        let CopyOp::BulkToShared { to, from, bytes, barrier, from_shared, multicast } = op else { return Ok(()) };
        let (to, from) = (self.addresses(by.warp, to)[by.lane], self.addresses(by.warp, from)[by.lane]);
        let bytes = self.bulk_bytes(by, *bytes)?;
        aligned(by.lane, "shared", to, 16)?;
        aligned(by.lane, "source", from, 16)?;
        let barrier = self.mbarrier_of(by, barrier)?;
        let event = self.load_event(by, barrier);
        let ranks = multicast.map(|mask| self.value(by.warp, mask)[by.lane] as u16);
        if *from_shared {
            let place = self.shared_place_of(by, Space::Shared, from, bytes, Access::Read)?;
            self.reach(by, Place::Shared { block: place.0, index: place.1 }, event, Access::Read, bytes)?;
            return self.issue_loads(by, to, bytes, barrier, ranks, |_| Source::Shared(place));
        }
        self.reach(by, Place::Global(from), event, Access::Read, bytes)?;
        self.issue_loads(by, to, bytes, barrier, ranks, |_| Source::Global(from))
    }

    /// What a copy that the mbarrier counts does: known to who has seen the phase that counts it.
    pub(super) fn load_event(&self, by: Lane, barrier: (usize, u32)) -> Event {
        let mbarrier = self.blocks[barrier.0].mbarriers.get(&barrier.1);
        let (channel, phase) = mbarrier.map_or((0, 0), |mbarrier| (mbarrier.channel, mbarrier.phase));
        self.threads.channel_event(channel, phase + 1, self.line(by.pc))
    }

    /// One load for each block that receives: the same offset, and the same barrier's offset, in each.
    fn issue_loads(
        &mut self,
        by: Lane,
        to: u64,
        bytes: u32,
        barrier: (usize, u32),
        ranks: Option<u16>,
        source: impl Fn(usize) -> Source,
    ) -> Exec<()> {
        let (to_block, index) = self.shared_place_of(by, Space::SharedCluster, to, bytes, Access::Write)?;
        if ranks.is_none() && to_block != barrier.0 {
            return refuse(by.lane, "the mbarrier lies in another block than the destination");
        }
        let blocks: Vec<usize> = match ranks {
            None => vec![to_block],
            Some(mask) => (0..16).filter(|rank| mask >> rank & 1 == 1).collect(),
        };
        for block in blocks {
            if block >= self.blocks.len() {
                return refuse(by.lane, format!("multicast to block {block} of a cluster of {}", self.blocks.len()));
            }
            let barrier = (block, barrier.1);
            self.require_visible(by.warp, by.lane, barrier, Proxy::Async)?;
            let event = self.load_event(by, barrier);
            self.reach(by, Place::Shared { block, index }, event, Access::Write, bytes)?;
            self.tally.request(by.pc, Path::Bulk, Access::Read, &[to], bytes);
            let work = Work::Load { from: source(block), to: (block, index), bytes, barrier };
            self.enqueue(by, work);
        }
        Ok(())
    }

    fn enqueue(&mut self, by: Lane, work: Work) {
        let Lane { warp, lane, pc, .. } = by;
        self.copies.push(PendingCopy { warp, lane, pc, line: self.line(pc), work });
    }

    fn issue_store(&mut self, by: Lane, from: u64, bytes: u32, to: Target) -> Exec<()> {
        let place = self.shared_place_of(by, Space::Shared, from, bytes, Access::Read)?;
        let line = self.line(by.pc);
        let groups = self.groups(by.warp, by.lane);
        let (group, read_channel, write_channel) = (groups.open, groups.read_channel, groups.write_channel);
        let reads = self.threads.channel_event(read_channel, group, line);
        let writes = self.threads.channel_event(write_channel, group, line);
        self.reach(by, Place::Shared { block: place.0, index: place.1 }, reads, Access::Read, bytes)?;
        match &to {
            Target::Global(address) => drop(self.reach(by, Place::Global(*address), writes, Access::Write, bytes)?),
            Target::Tensor(tensor) => self.write_tensor(by, tensor, place, writes)?,
        }
        self.tally.request(by.pc, Path::Bulk, Access::Write, &[from], bytes);
        self.enqueue(by, Work::Store { from: place, bytes, to, group, read: None });
        Ok(())
    }

    /// The groups of a lane, made when it first needs them.
    fn groups(&mut self, warp: usize, lane: usize) -> &mut BulkGroups {
        let at = self.warps[warp].bulk.iter().position(|groups| groups.lane == lane);
        let at = at.unwrap_or_else(|| {
            let (read_channel, write_channel) = (self.threads.new_channel(), self.threads.new_channel());
            self.warps[warp].bulk.push(BulkGroups { lane, read_channel, write_channel, open: 1 });
            self.warps[warp].bulk.len() - 1
        });
        &mut self.warps[warp].bulk[at]
    }

    /// What a lane must wait for until at most `pending` of its newest groups are under way; none when it may go on.
    fn wait_for_groups(&mut self, warp: usize, lane: usize, pending: u32, reads_only: bool) -> Option<Wait> {
        let groups = self.groups(warp, lane);
        let (read_channel, write_channel) = (groups.read_channel, groups.write_channel);
        let group = (groups.open - 1).saturating_sub(pending);
        if self.copies.iter().any(|copy| copy.holds_up(warp, lane, group, reads_only)) {
            return Some(Wait::Bulk { lane, group, reads_only });
        }
        self.threads.learn_channel(warp, 1 << lane, read_channel, group);
        if !reads_only {
            self.threads.learn_channel(warp, 1 << lane, write_channel, group);
        }
        None
    }

    /// Does the next step of a copy; a store takes two.
    pub fn finish(&mut self, copy: PendingCopy) -> Exec<()> {
        let PendingCopy { warp, lane, pc, line, work } = copy;
        match work {
            Work::Load { from, to, bytes, barrier } => {
                self.land_load(from, to, bytes);
                self.with_mbarrier(lane, barrier, |mbarrier| mbarrier.deliver(bytes.into()))?;
            }
            Work::Store { from, bytes, to, group, read: None } => {
                let shared = &self.blocks[from.0].shared;
                let range = from.1 as usize..(from.1 + bytes) as usize;
                let read = Some(shared.get(range).unwrap_or_default().to_vec());
                self.copies.push(PendingCopy {
                    warp,
                    lane,
                    pc,
                    line,
                    work: Work::Store { from, bytes, to, group, read },
                });
            }
            Work::Store { from, to, read: Some(data), .. } => match to {
                Target::Global(address) => self.put(address, &data),
                Target::Tensor(tensor) => tensor.store(self.memory, self.context.shared_base + from.1, &data),
            },
        }
        Ok(())
    }

    fn land_load(&mut self, from: Source, (block, index): (usize, u32), bytes: u32) {
        let data = match from {
            Source::Registers(data) => data,
            Source::Global(address) => match self.memory.find(address, bytes.into()) {
                Some((allocation, at)) => allocation.bytes.get(at..at + bytes as usize).unwrap_or_default().to_vec(),
                None => Vec::new(),
            },
            Source::Shared((block, index)) => {
                let range = index as usize..(index + bytes) as usize;
                self.blocks[block].shared.get(range).unwrap_or_default().to_vec()
            }
            Source::Tensor(tensor) => tensor.load(self.memory, self.context.shared_base + index),
        };
        let range = index as usize..(index + bytes) as usize;
        let target = self.blocks[block].shared.get_mut(range).unwrap_or_default();
        target.iter_mut().zip(data).for_each(|(to, from)| *to = from);
    }

    /// Writes bytes that were checked when the copy was issued.
    fn put(&mut self, address: u64, data: &[u8]) {
        if let Some((allocation, at)) = self.memory.find(address, data.len() as u64) {
            let target = allocation.bytes.get_mut(at..at + data.len()).unwrap_or_default();
            target.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
        }
    }
}
