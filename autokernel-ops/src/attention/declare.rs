//! What a declaration of attention says.

mod body;
mod locators;

use autokernel_core::Dtype;

use super::dims::{DIM_STEP, WIDEST_HEAD, is_size_of_head, remedy};
use super::problem::{Problem, WIDEST_WINDOW};
use super::score::{self, Kind, Operand};
use super::sequences::{LARGEST_PAGE, Locator, PAGE_STEP};
use crate::declaration::{
    Attribute, Body, Complaint, Declaration, Form, Given, Parameter, ScalarParameter, Setting, TensorParameter, both,
};

/// The attribute.
pub const ATTRIBUTE: Attribute = Attribute {
    name: "attention",
    example: "#[autokernel::attention(causal, head_dim = 128)] fn attend(q: &Heads<bf16>, k: &Heads<bf16>, \
              v: &Heads<bf16>, out: &mut Heads<bf16>);",
    form: Form::Any,
    names: score::NAMES,
};

const PARAMETERS: &str = "attention takes `q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>`, all of one \
                          type, bf16 or f16; behind `v` what says where sequences are, and with a body what it reads; behind it there may be `log_sum_exp: &mut \
                          Heads<f32>`";

/// The problem that `declaration` says.
///
/// # Errors
/// All mistakes at once, each with its remedy; none where only the body cannot be read.
pub fn declare(declaration: &Declaration) -> Result<Problem, Vec<Complaint>> {
    let (settings, parameters) = both(settings(declaration), parameters(declaration))?;
    let Parameters { dtype, locators, operands, log_sum_exp } = parameters;
    let Settings { causal, window, head_dim, value_dim, scale, page } = settings;
    let sequences = locators::sequences(declaration, page, &locators)?;
    let missing = "give the elements of a query: `head_dim = 128`";
    let head_dim = head_dim.ok_or_else(|| vec![declaration.arguments.complain(missing)])?;
    let scale = scale.unwrap_or_else(|| (head_dim as f32).sqrt().recip());
    let value_dim = value_dim.unwrap_or(head_dim);
    let score = match &declaration.body {
        Body::None if operands.is_empty() => None,
        Body::None => return Err(vec![declaration.parameter_list.complain(PARAMETERS)]),
        Body::Unreadable => return Err(Vec::new()),
        Body::Statements(statements) => Some(body::score(declaration, operands, statements)?),
    };
    Ok(Problem { dtype, head_dim, value_dim, causal, window, scale, log_sum_exp, score, sequences })
}

/// What stands in the attribute's parentheses.
#[derive(Default)]
struct Settings {
    causal: bool,
    window: Option<u32>,
    head_dim: Option<u32>,
    value_dim: Option<u32>,
    scale: Option<f32>,
    page: Option<u32>,
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
        let twice = || node.complain(format!("`{name}` is given twice; remove one"));
        let once = |given: bool| if given { Err(twice()) } else { Ok(()) };
        match (name.as_str(), given) {
            ("causal", Given::Nothing) => {
                once(self.causal)?;
                self.causal = true;
            }
            ("window", Given::Value(value)) => {
                once(self.window.is_some())?;
                let window = value.dimension()?;
                let refused = format!("a window has at most {WIDEST_WINDOW} keys; leave it out to see all");
                self.window = Some(window).filter(|window| *window <= WIDEST_WINDOW);
                self.window.ok_or_else(|| value.node.complain(refused))?;
            }
            ("head_dim", Given::Value(value)) => {
                once(self.head_dim.is_some())?;
                self.head_dim = Some(dim(name, value.dimension()?).map_err(|message| value.node.complain(message))?);
            }
            ("value_dim", Given::Value(value)) => {
                once(self.value_dim.is_some())?;
                self.value_dim = Some(dim(name, value.dimension()?).map_err(|message| value.node.complain(message))?);
            }
            ("scale", Given::Value(value)) => {
                once(self.scale.is_some())?;
                self.scale = value.number().filter(|scale| scale.is_normal() && *scale > 0.0);
                let refused = "a scale is a positive number, for example `scale = 0.125`; left out it is \
                               1 / sqrt(head_dim)";
                self.scale.ok_or_else(|| value.node.complain(refused))?;
            }
            ("page", Given::Value(value)) => {
                once(self.page.is_some())?;
                let page = value.dimension()?;
                let refused = format!("a page has a multiple of {PAGE_STEP} keys up to {LARGEST_PAGE}, not {page}");
                self.page = Some(page).filter(|page| page.is_multiple_of(PAGE_STEP) && *page <= LARGEST_PAGE);
                self.page.ok_or_else(|| value.node.complain(refused))?;
            }
            _ => {
                if name == "backward" {
                    return Err(node.complain("attention runs forward alone; remove `backward`"));
                }
                let known = "`causal`, `head_dim = 128`, `value_dim = 64`, `window = 4096`, `page = 64`, \
                             `scale = 0.125` and types, `T = [bf16, f16]`";
                return Err(node.complain(format!("settings of attention are {known}")));
            }
        }
        Ok(())
    }
}

fn dim(name: &str, size: u32) -> Result<u32, String> {
    let refused = || format!("`{name}` is a multiple of {DIM_STEP} up to {WIDEST_HEAD}, not {size}{}", remedy(size));
    if is_size_of_head(size) { Ok(size) } else { Err(refused()) }
}

/// What the parameters say.
struct Parameters {
    /// The type that queries, keys, values and the result share.
    dtype: Dtype,
    /// What says where sequences are.
    locators: Vec<Locator>,
    /// What a body reads.
    operands: Vec<Operand>,
    log_sum_exp: bool,
}

fn parameters(declaration: &Declaration) -> Result<Parameters, Vec<Complaint>> {
    let refused = || vec![declaration.parameter_list.complain(PARAMETERS)];
    let heads = |parameter: &Parameter, written| match parameter {
        Parameter::Tensor(TensorParameter { mutable, container, element, .. }) if container == "Heads" => {
            Dtype::from_name(element).filter(|_| *mutable == written)
        }
        _ => None,
    };
    let (log_sum_exp, parameters) = match &declaration.parameters[..] {
        [others @ .., last] if heads(last, true) == Some(Dtype::F32) => (true, others),
        all => (false, all),
    };
    let [q, k, v, others @ .., out] = parameters else { return Err(refused()) };
    let dtypes = [(q, false), (k, false), (v, false), (out, true)].map(|(at, written)| heads(at, written));
    let dtype = dtypes[0].filter(|dtype| matches!(dtype, Dtype::Bf16 | Dtype::F16) && dtypes == [Some(*dtype); 4]);
    let dtype = dtype.ok_or_else(refused)?;
    let (locators, others) = locators::split(others)?;
    let operands = others.iter().map(operand).collect::<Result<_, _>>().map_err(|complaint| vec![complaint])?;
    Ok(Parameters { dtype, locators, operands, log_sum_exp })
}

fn operand(parameter: &Parameter) -> Result<Operand, Complaint> {
    let form = "a body on the score reads numbers, `cap: f32`, or in device memory `cap: &Scalar<f32>`; numbers of each head, \
                `slope: &PerHead<f32>`; and numbers of each head by how far the key lies behind the query, `bias: &PerDistance<f32>`";
    let kind = |container: &str| match container {
        "Scalar" => Some(Kind::DeviceScalar),
        "PerHead" => Some(Kind::PerHead),
        "PerDistance" => Some(Kind::PerDistance),
        _ => None,
    };
    match parameter {
        Parameter::Scalar(ScalarParameter { name, .. }) => Ok(Operand { name: name.clone(), kind: Kind::Number }),
        Parameter::Tensor(TensorParameter { name, mutable, container, element, ty, .. }) => {
            let kind = kind(container).filter(|_| !mutable && element == "f32");
            kind.map(|kind| Operand { name: name.clone(), kind }).ok_or_else(|| ty.complain(form))
        }
        Parameter::Index { node, .. }
        | Parameter::PageTable { node, .. }
        | Parameter::Routes { node, .. }
        | Parameter::Other { node } => Err(node.complain(form)),
    }
}
