//! Where names of a text are looked up.

use proc_macro2::Span;
use syn::visit_mut::VisitMut;
use syn::{Block, Ident};

/// Lets `names` in a block mean what is generated around it: what a macro hands on is written elsewhere, and rustc tells its names from
/// those of generated parameters.
pub fn beside_generated<'n>(block: &mut Block, names: impl Iterator<Item = &'n str>) {
    Beside(names.collect()).visit_block_mut(block);
}

struct Beside<'n>(Vec<&'n str>);

impl VisitMut for Beside<'_> {
    fn visit_ident_mut(&mut self, name: &mut Ident) {
        if self.0.iter().any(|generated| name == generated) {
            name.set_span(name.span().resolved_at(Span::call_site()));
        }
    }
}
