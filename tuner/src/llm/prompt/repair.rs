//! The one prompt that asks for a usable reply after an unusable one.

use super::refine;
use crate::llm::reply::Rejected;

/// How a repair prompt begins.
const HEADING: &str = "# Your reply cannot be used\n";

/// Whether `prompt` asks to mend a reply.
pub fn is_repair(prompt: &str) -> bool {
    prompt.starts_with(HEADING)
}

/// Says why nothing in the last reply could be used, and what can.
pub fn repair(rejected: &[Rejected]) -> String {
    let reason = if rejected.is_empty() {
        "Your reply holds no proposal that could be read.".to_owned()
    } else {
        format!("None of your proposals can be tried:\n{}", refine::rejected(rejected))
    };
    format!(
        "{HEADING}{reason}\n\nAnswer again with one JSON object that follows the schema and nothing else: \
         {{\"proposals\": [{{\"why\": \"<one sentence>\", \"schedule\": {{…}}}}]}}. Take every value from the legal \
         values of its knob, keep every rule, and repeat nothing that was tried."
    )
}
