//! What a declaration of routing says.

use autokernel_core::Dtype;

use super::problem::{LARGEST_TOP_K, MOST_EXPERTS, Problem};
use crate::declaration::{
    Attribute, Complaint, Declaration, Form, Given, Parameter, Setting, TensorParameter, Value, both,
};

/// The attribute.
pub const ATTRIBUTE: Attribute = Attribute {
    name: "routing",
    example: "#[autokernel::routing(experts = 64, top_k = 6)] fn route(scores: &Matrix<f32>, routes: &mut Routes);",
    form: Form::Bodyless,
    names: &[],
};

/// The problem that `declaration` says.
///
/// # Errors
/// All mistakes at once, each with its remedy.
pub fn declare(declaration: &Declaration) -> Result<Problem, Vec<Complaint>> {
    let (settings, dtype) = both(settings(declaration), scores(declaration))?;
    let missing = |what: &str| vec![declaration.arguments.complain(format!("give {what}"))];
    let (experts, _) = settings.experts.ok_or_else(|| missing("how many experts there are: `experts = 64`"))?;
    let (top_k, place) = settings.top_k.ok_or_else(|| missing("how many experts compute a token: `top_k = 6`"))?;
    if top_k > experts {
        return Err(vec![place.node.complain(format!("a token has at most all {experts} experts, not {top_k}"))]);
    }
    Ok(Problem { dtype, experts, top_k, over_all: settings.over_all })
}

/// What stands in the attribute's parentheses.
#[derive(Default)]
struct Settings {
    experts: Option<(u32, Value)>,
    top_k: Option<(u32, Value)>,
    over_all: bool,
}

fn settings(declaration: &Declaration) -> Result<Settings, Vec<Complaint>> {
    let (mut settings, mut complaints) = (Settings::default(), Vec::new());
    for setting in &declaration.settings {
        complaints.extend(settings.apply(setting).err());
    }
    if complaints.is_empty() { Ok(settings) } else { Err(complaints) }
}

impl Settings {
    fn apply(&mut self, Setting { name, node, given }: &Setting) -> Result<(), Complaint> {
        let once = |is_first: bool| {
            if is_first { Ok(()) } else { Err(node.complain(format!("`{name}` is given twice; remove one"))) }
        };
        match (name.as_str(), given) {
            ("experts", Given::Value(value)) => {
                once(self.experts.is_none())?;
                self.experts = Some((count(value, "experts", MOST_EXPERTS)?, *value));
            }
            ("top_k", Given::Value(value)) => {
                once(self.top_k.is_none())?;
                self.top_k = Some((count(value, "experts of a token", LARGEST_TOP_K)?, *value));
            }
            ("over_all", Given::Nothing) => {
                once(!self.over_all)?;
                self.over_all = true;
            }
            _ => return Err(node.complain("settings of routing are `experts = 64`, `top_k = 6` and `over_all`")),
        }
        Ok(())
    }
}

fn count(value: &Value, what: &str, most: u32) -> Result<u32, Complaint> {
    let count = value.dimension()?;
    let refused = || value.node.complain(format!("there are at most {most} {what}, not {count}"));
    Some(count).filter(|count| *count <= most).ok_or_else(refused)
}

/// The type of the scores.
fn scores(declaration: &Declaration) -> Result<Dtype, Vec<Complaint>> {
    let form = "routing takes `scores: &Matrix<f32>, routes: &mut Routes`; scores may be bf16 and f16 too";
    let refused = || vec![declaration.parameter_list.complain(form)];
    match &declaration.parameters[..] {
        [
            Parameter::Tensor(TensorParameter { mutable: false, container, element, .. }),
            Parameter::Routes { mutable: true, .. },
        ] if container == "Matrix" => {
            let dtype = Dtype::from_name(element);
            dtype.filter(|dtype| matches!(dtype, Dtype::Bf16 | Dtype::F16 | Dtype::F32)).ok_or_else(refused)
        }
        _ => Err(refused()),
    }
}
