use super::*;

/// What becomes of the sums of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    HandedOn,
    Stored,
    Finished,
}

/// Of a tile these k-blocks.
#[derive(Clone, Copy, Debug)]
struct Step {
    tile: u64,
    first: u64,
    count: u64,
    fate: Fate,
}

/// The walk of the device.
impl Sharing {
    fn begin(&self, cluster: u64) -> u64 {
        let cluster = cluster.min(self.sharers);
        cluster * self.share + cluster.min(self.longer)
    }

    fn steps(&self, cluster: u64) -> Vec<Step> {
        let &Sharing { clusters, of_tile, whole_tiles, .. } = self;
        let (begin, end) = (self.begin(cluster), self.begin(cluster + 1));
        let whole = |tile| Step { tile, first: 0, count: of_tile, fate: Fate::Stored };
        let mut steps = Vec::new();
        if !end.is_multiple_of(of_tile) {
            let count = (end % of_tile).min(end - begin);
            let first = end % of_tile - count;
            steps.push(Step { tile: whole_tiles + end / of_tile, first, count, fate: Fate::HandedOn });
        }
        steps.extend((cluster..whole_tiles).step_by(clusters as usize).map(whole));
        steps.extend((begin.div_ceil(of_tile)..end / of_tile).map(|tile| whole(whole_tiles + tile)));
        if !begin.is_multiple_of(of_tile) && end / of_tile > begin / of_tile {
            let first = begin % of_tile;
            let tile = whole_tiles + begin / of_tile;
            steps.push(Step { tile, first, count: of_tile - first, fate: Fate::Finished });
        }
        steps
    }

    /// The first cluster with a part of the tile that `cluster` finishes.
    fn first_contributor(&self, cluster: u64) -> u64 {
        let tile = self.begin(cluster) / self.of_tile * self.of_tile;
        (0..=cluster).rev().find(|other| self.begin(*other) <= tile).unwrap()
    }
}

/// Every number of tiles, clusters and k-blocks up to a few waves of them, and of waves that are shared.
fn all() -> impl Iterator<Item = Sharing> {
    let grids = (1..=30).flat_map(|tiles| (1..=11).map(move |clusters| (tiles, clusters)));
    let sums = (1..=18).flat_map(|of_tile| (0..=Sharing::MOST_WAVES).map(move |waves| (of_tile, waves)));
    grids.flat_map(move |(tiles, clusters)| {
        sums.clone().map(move |(of_tile, waves)| Sharing::new(tiles, clusters, of_tile, waves))
    })
}

#[test]
fn every_block_of_every_tile_is_multiplied_once_and_every_tile_stored_once() {
    for sharing in all() {
        let tiles = sharing.whole_tiles + sharing.shared_tiles;
        let mut blocks = vec![0; (tiles * sharing.of_tile) as usize];
        let mut stored = vec![0; tiles as usize];
        for Step { tile, first, count, fate } in (0..sharing.clusters).flat_map(|cluster| sharing.steps(cluster)) {
            assert!(count > 0 && first + count <= sharing.of_tile, "{sharing:?}");
            let at = (tile * sharing.of_tile + first) as usize;
            blocks[at..at + count as usize].iter_mut().for_each(|block| *block += 1);
            stored[tile as usize] += u32::from(fate != Fate::HandedOn);
        }
        assert!(blocks.iter().all(|&times| times == 1), "{sharing:?}");
        assert!(stored.iter().all(|&times| times == 1), "{sharing:?}");
    }
}

#[test]
fn what_is_finished_was_handed_on_by_the_clusters_just_before_one_part_each() {
    let mut longest = 0;
    for sharing in all() {
        let handed_on = |cluster| sharing.steps(cluster).into_iter().find(|step| step.fate == Fate::HandedOn);
        let (mut given, mut taken) = (0, 0);
        for cluster in 0..sharing.clusters {
            let steps = sharing.steps(cluster);
            given += steps.iter().filter(|step| step.fate == Fate::HandedOn).count();
            let Some(own) = steps.iter().find(|step| step.fate == Fate::Finished) else { continue };
            let mut end = own.first;
            for other in (sharing.first_contributor(cluster)..cluster).rev() {
                let part = handed_on(other).unwrap();
                assert_eq!((part.tile, part.first + part.count), (own.tile, end), "{sharing:?}");
                (end, taken) = (part.first, taken + 1);
            }
            assert_eq!(end, 0, "{sharing:?}");
            longest = longest.max(cluster - sharing.first_contributor(cluster));
            assert!(cluster - sharing.first_contributor(cluster) <= sharing.contributors(), "{sharing:?}");
        }
        assert_eq!(given, taken, "{sharing:?}");
    }
    assert!(longest > 3, "some tiles have many contributors");
}

#[test]
fn a_cluster_hands_on_first_and_finishes_last_and_does_each_once_at_most() {
    for sharing in all() {
        for cluster in 0..sharing.clusters {
            let steps = sharing.steps(cluster);
            let last = steps.len().saturating_sub(1);
            for (at, step) in steps.iter().enumerate() {
                assert!(step.fate != Fate::HandedOn || at == 0, "{sharing:?}");
                assert!(step.fate != Fate::Finished || at == last, "{sharing:?}");
            }
        }
    }
}

#[test]
fn shares_differ_by_a_block_at_most_and_none_is_too_short_for_an_exchange() {
    for sharing in all().filter(|sharing| sharing.shared_tiles > 0) {
        let shares = (0..sharing.sharers).map(|cluster| sharing.begin(cluster + 1) - sharing.begin(cluster));
        let (least, most) = (shares.clone().min().unwrap(), shares.max().unwrap());
        assert!(most - least <= 1 && least >= LEAST_SHARE.min(sharing.of_tile), "{sharing:?}");
        let longest =
            (0..sharing.clusters).map(|cluster| sharing.steps(cluster).iter().map(|step| step.count).sum()).max();
        assert_eq!(longest, Some(sharing.longest()), "{sharing:?}");
    }
}

#[test]
fn a_full_last_wave_is_not_shared_and_one_of_few_tiles_is_shared_by_all() {
    assert_eq!(Sharing::new(264, 132, 64, 2).shared_tiles, 0);
    let [one, two] = [1, 2].map(|waves| Sharing::new(160, 132, 128, waves));
    assert_eq!((one.shared_tiles, two.shared_tiles, one.sharers, two.sharers), (28, 160, 132, 132));
    assert_eq!((one.longest(), two.longest()), (128 + 28, 156));
    assert_eq!((one.contributors(), two.contributors()), (5, 1));
    assert_eq!(Sharing::new(3, 132, 64, 1).sharers, 48);
}

#[test]
fn a_line_that_an_int_cannot_count_is_not_shared() {
    assert_eq!(Sharing::new(133, 132, 1 << 25, 1).shared_tiles, 1);
    assert_eq!(Sharing::new(133, 132, 1 << 25, 2).shared_tiles, 0);
}
