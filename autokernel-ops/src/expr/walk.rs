//! Walking an expression.

use super::{Axis, Condition, Expr};

impl Expr {
    /// Calls `visit` with this expression and every one in it, in the order of the text.
    pub fn walk<'e>(&'e self, visit: &mut impl FnMut(&'e Expr)) {
        visit(self);
        match self {
            Expr::Variable(_) | Expr::Literal(_) | Expr::Index(_) | Expr::Extent(_) => {}
            Expr::Negate(value) => value.walk(visit),
            Expr::Binary(_, left, right) => [left, right].into_iter().for_each(|side| side.walk(visit)),
            Expr::Call(_, args) => args.iter().for_each(|arg| arg.walk(visit)),
            Expr::If(condition, then, otherwise) => {
                condition.walk(visit);
                [then, otherwise].into_iter().for_each(|side| side.walk(visit));
            }
        }
    }

    /// The number that it is, of a literal.
    pub fn literal(&self) -> Option<f32> {
        if let Expr::Literal(value) = self { Some(*value) } else { None }
    }

    /// The names in it, in the order of the text, each as often as it stands there.
    pub fn variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.walk(&mut |expr| {
            if let Expr::Variable(name) = expr {
                names.push(name.as_str());
            }
        });
        names
    }

    /// Whether the element's number along `axis` is in it.
    pub fn has_index(&self, axis: Axis) -> bool {
        let mut has = false;
        self.walk(&mut |expr| has |= *expr == Expr::Index(axis));
        has
    }

    /// Whether the number of elements along `axis` is in it.
    pub fn has_extent(&self, axis: Axis) -> bool {
        let mut has = false;
        self.walk(&mut |expr| has |= *expr == Expr::Extent(axis));
        has
    }

    /// The same with other names.
    pub fn renamed(&self, name: &impl Fn(&str) -> String) -> Expr {
        match self {
            Expr::Variable(old) => Expr::Variable(name(old)),
            other => other.map_children(&mut |child| child.renamed(name)),
        }
    }

    /// The same with each expression directly below it, inside conditions too, replaced by what `replace` makes of it.
    pub fn map_children(&self, replace: &mut impl FnMut(&Expr) -> Expr) -> Expr {
        let mut boxed = |expr: &Expr| Box::new(replace(expr));
        match self {
            Expr::Variable(_) | Expr::Literal(_) | Expr::Index(_) | Expr::Extent(_) => self.clone(),
            Expr::Negate(value) => Expr::Negate(boxed(value)),
            Expr::Binary(op, left, right) => Expr::Binary(*op, boxed(left), boxed(right)),
            Expr::Call(function, args) => Expr::Call(*function, args.iter().map(replace).collect()),
            Expr::If(condition, then, otherwise) => {
                let (then, otherwise) = (boxed(then), boxed(otherwise));
                Expr::If(Box::new(condition.map_numbers(replace)), then, otherwise)
            }
        }
    }
}

impl Condition {
    fn walk<'e>(&'e self, visit: &mut impl FnMut(&'e Expr)) {
        match self {
            Condition::Compare(_, left, right) => [left, right].into_iter().for_each(|side| side.walk(visit)),
            Condition::Not(condition) => condition.walk(visit),
            Condition::And(left, right) | Condition::Or(left, right) => {
                [left, right].into_iter().for_each(|side| side.walk(visit));
            }
        }
    }

    pub(crate) fn map_numbers(&self, replace: &mut impl FnMut(&Expr) -> Expr) -> Condition {
        match self {
            Condition::Compare(op, left, right) => Condition::Compare(*op, replace(left), replace(right)),
            Condition::Not(condition) => Condition::Not(Box::new(condition.map_numbers(replace))),
            Condition::And(left, right) => {
                Condition::And(Box::new(left.map_numbers(replace)), Box::new(right.map_numbers(replace)))
            }
            Condition::Or(left, right) => {
                Condition::Or(Box::new(left.map_numbers(replace)), Box::new(right.map_numbers(replace)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::epilogue::Epilogue;

    #[test]
    fn names_are_found_and_replaced_wherever_they_stand() {
        let relu = "relu".parse::<Epilogue>().unwrap().function().result.clone();
        assert_eq!(relu.variables(), ["x", "x"]);
        assert_eq!(relu.renamed(&|name| format!("{name}_")).variables(), ["x_", "x_"]);
    }
}
