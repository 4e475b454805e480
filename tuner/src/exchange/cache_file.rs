//! Kernel Tuner's cache files: what it tried, a member a configuration, by which it resumes, simulates and visualises a search.
//!
//! Schema 1.1.0 (github.com/KernelTuner/kernel_tuner, kernel_tuner/schema/cache/1.1.0/schema.json), which allows more members than it
//! names: what autokernel needs to replay them stands in `autokernel`, as in the metadata of [T4](super::t4). Times are in milliseconds.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::t4::{FAILURE, Invalidity, Provenance, Quantity, Results, Row, TIME, Times};

/// The version of the schema.
const SCHEMA_VERSION: &str = "1.1.0";

/// A time that Kernel Tuner once wrote for what failed.
const FAILED_MS: f64 = 1e20;

/// Members of a row that are no knobs of the configuration.
const TIMES: &str = "times";
const TIMESTAMP: &str = "timestamp";
const FRAMEWORK: &str = "framework_time";
/// What trying took by its parts; all that is known of it here is the whole.
const PARTS: [&str; 4] = ["compile_time", "verification_time", "benchmark_time", "strategy_time"];

/// A cache file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheFile {
    /// The version of the schema.
    #[serde(default)]
    pub schema_version: String,
    /// The GPU.
    pub device_name: String,
    /// The kernel.
    pub kernel_name: String,
    /// The extents of the problem, a number each.
    pub problem_size: Value,
    /// The knobs, in the order in which the names of `cache` have their values.
    pub tune_params_keys: Vec<String>,
    /// The values of each knob that were tried.
    pub tune_params: Map<String, Value>,
    /// What was optimised.
    #[serde(default)]
    pub objective: String,
    /// What was tried, by its values.
    pub cache: Map<String, Value>,
    /// What autokernel needs to replay it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autokernel: Option<Provenance>,
}

impl CacheFile {
    /// The file of `rows`, of which each configuration counts once.
    pub fn of(rows: &[Row], provenance: Provenance) -> Self {
        let mut keys: Vec<String> = rows.iter().flat_map(|row| row.configuration.keys().cloned()).collect();
        keys.sort();
        keys.dedup();
        let value = |row: &Row, key: &String| row.configuration.get(key).cloned().unwrap_or(Value::Null);
        let values = |key: &String| {
            let mut values: Vec<Value> = Vec::new();
            for row in rows {
                let value = value(row, key);
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            (key.clone(), Value::Array(values))
        };
        let name = |row: &Row| keys.iter().map(|key| text(&value(row, key))).collect::<Vec<_>>().join(",");
        let mut cache = Map::new();
        for row in rows {
            let knobs = keys.iter().map(|key| (key.clone(), value(row, key)));
            cache.entry(name(row)).or_insert_with(|| Value::Object(knobs.chain(members(row)).collect()));
        }
        let target = &provenance.target;
        CacheFile {
            schema_version: SCHEMA_VERSION.to_owned(),
            device_name: provenance.environment.gpu.clone(),
            kernel_name: target.problem.class().slug(),
            problem_size: target.shape.sizes().collect(),
            tune_params: keys.iter().map(values).collect(),
            tune_params_keys: keys,
            objective: TIME.to_owned(),
            cache,
            autokernel: Some(provenance),
        }
    }

    /// What was tried, as T4 has it.
    ///
    /// # Errors
    /// An entry is none, or has no time.
    pub fn results(&self) -> Result<Results, String> {
        let rows = self.cache.iter().map(|(name, entry)| {
            self.row(entry).ok_or_else(|| format!("`{name}` of its cache has no time, or is no configuration"))
        });
        Ok(Results { schema_version: SCHEMA_VERSION.to_owned(), results: rows.collect::<Result<_, _>>()? })
    }

    fn row(&self, entry: &Value) -> Option<Row> {
        let entry = entry.as_object()?;
        let knob = |key: &String| Some((key.clone(), entry.get(key)?.clone()));
        let configuration = self.tune_params_keys.iter().filter_map(knob).filter(|(_, value)| !value.is_null());
        let number = |name: &str| entry.get(name).and_then(Value::as_f64);
        let invalidity = match entry.get(TIME)? {
            Value::String(error) => named(error),
            time if time.as_f64()? >= FAILED_MS => Invalidity::Runtime,
            _ => Invalidity::Correct,
        };
        let is_correct = invalidity == Invalidity::Correct;
        let of = |list: &Value| list.as_array().map(|times| times.iter().filter_map(Value::as_f64).collect::<Vec<_>>());
        let runtimes = entry.get(TIMES).and_then(of).filter(|times| !times.is_empty());
        let runtimes = runtimes.or_else(|| Some(vec![number(TIME)?])).filter(|_| is_correct).unwrap_or_default();
        let quantity = |name: &str| {
            let value = entry.get(name).filter(|value| !value.is_string() || name == FAILURE)?;
            Some(Quantity { name: name.to_owned(), value: value.clone(), unit: String::new() })
        };
        let measurements = [TIME, "spread", "samples", FAILURE].into_iter().filter_map(quantity);
        Some(Row {
            timestamp: entry.get(TIMESTAMP).and_then(Value::as_str).map(str::to_owned),
            configuration: configuration.collect(),
            times: Times { runtimes, framework: number(FRAMEWORK) },
            invalidity,
            correctness: f64::from(u8::from(is_correct)),
            measurements: measurements.collect(),
            objectives: vec![TIME.to_owned()],
        })
    }
}

/// The members of an entry beside its knobs.
fn members(row: &Row) -> impl Iterator<Item = (String, Value)> {
    let parts = PARTS.map(|part| (part.to_owned(), Value::from(0.0)));
    let framework = (FRAMEWORK.to_owned(), row.times.framework.unwrap_or(0.0).into());
    let times = (TIMES.to_owned(), row.times.runtimes.clone().into());
    let timestamp = (TIMESTAMP.to_owned(), row.timestamp.clone().unwrap_or_default().into());
    let error = error_of(row.invalidity).map(|error| (TIME.to_owned(), Value::from(error)));
    let quantities = row.measurements.iter().map(|quantity| (quantity.name.clone(), quantity.value.clone()));
    let quantities: Vec<(String, Value)> = quantities.collect();
    parts.into_iter().chain([framework, times, timestamp]).chain(quantities).chain(error)
}

/// How Kernel Tuner calls what cannot be used.
fn error_of(invalidity: Invalidity) -> Option<&'static str> {
    match invalidity {
        Invalidity::Correct => None,
        Invalidity::Constraints => Some("InvalidConfig"),
        Invalidity::Compile => Some("CompilationFailedConfig"),
        Invalidity::Timeout | Invalidity::Runtime | Invalidity::Correctness => Some("RuntimeFailedConfig"),
    }
}

fn named(error: &str) -> Invalidity {
    match error {
        "InvalidConfig" => Invalidity::Constraints,
        "CompilationFailedConfig" => Invalidity::Compile,
        _ => Invalidity::Runtime,
    }
}

/// A value as it stands in the name of an entry.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
