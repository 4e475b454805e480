//! The kinds of GPUs that workers measure on.

use autokernel_codegen::arch::Arch;
use serde::{Deserialize, Serialize};

use super::error::StudyError;
use super::link::Link;
use crate::gpu_facts::GpuFacts;

/// GPUs that measure alike, with the same driver and nvcc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kind {
    /// The GPU.
    pub gpu: GpuFacts,
    /// The arch that serves it best.
    pub arch: Arch,
    /// The driver's version.
    pub driver: String,
    /// nvcc's version.
    pub nvcc: String,
}

impl Kind {
    /// The kinds on which workers measure now, those of most workers first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn all(link: &mut Link, lease: std::time::Duration) -> Result<Vec<Self>, StudyError> {
        const QUERY: &str = "select kind::text from autokernel.worker
            where kind is not null and seen_at > now() - make_interval(secs => $1)
            group by kind::text order by count(*) desc, kind::text";
        let rows = link.run(|client| client.query(QUERY, &[&lease.as_secs_f64()]))?;
        // What another version of the tuner wrote is a kind that this one cannot tune for.
        Ok(rows
            .iter()
            .filter_map(|row| serde_json::from_str::<Kind>(row.get("kind")).ok())
            .filter(|kind| kind.gpu.check().is_ok())
            .collect())
    }
}
