//! A tuning session with one model.

use autokernel_codegen::schedule::Schedule;

use super::candidates::Candidates;
use super::error::{LlmError, excerpt};
use super::feedback::Feedback;
use super::prompt;
use super::provider::{JsonSchema, Message, Provider, Reply};
use super::reply::{self, Proposals};
use super::task::Task;

/// Rounds of proposals with one model: the task first, then feedback.
///
/// A request holds the task, the last exchange and the news, never the whole history: its size stays bounded, and the
/// news lists the best of all rounds anyway.
#[derive(Clone, Debug)]
pub struct Conversation {
    opening: [Message; 2],
    wanted: JsonSchema,
    candidates: Candidates,
    last_reply: Option<Message>,
}

impl Conversation {
    /// A conversation about `task`.
    pub fn new(task: &Task) -> Self {
        Conversation {
            opening: [Message::system(prompt::system()), Message::user(prompt::first(task))],
            wanted: prompt::wanted(&task.candidates),
            candidates: task.candidates.clone(),
            last_reply: None,
        }
    }

    /// The next proposals of `provider`. `feedback` is `None` in the first round; `tried` says which schedules need no
    /// second trial.
    ///
    /// A reply with nothing usable is answered by one request to mend it. Should nothing be valid even then, the
    /// rejected proposals are returned with their reasons; a model that has no more to propose returns neither.
    ///
    /// # Errors
    /// The provider's, or [`LlmError::Prose`] or [`LlmError::CutShort`] when two replies held no proposal. The conversation can go on after any.
    pub fn propose(
        &mut self,
        provider: &dyn Provider,
        feedback: Option<&Feedback>,
        tried: &dyn Fn(&Schedule) -> bool,
    ) -> Result<Proposals, LlmError> {
        let mut messages = self.messages(feedback);
        let reply = provider.complete(&messages, Some(&self.wanted))?;
        let first = self.parse(&reply, tried);
        if let Some(proposals) = first.as_ref().filter(|proposals| !proposals.valid.is_empty()) {
            let proposals = proposals.clone();
            self.last_reply = Some(Message::assistant(reply.text));
            return Ok(proposals);
        }
        let mut cut_short = reply.cut_short;
        let first = first.unwrap_or_else(|| Proposals { usage: reply.usage, ..Proposals::default() });
        messages.push(Message::assistant(reply.text));
        messages.push(Message::user(prompt::repair(&first.rejected)));
        let reply = provider.complete(&messages, Some(&self.wanted))?;
        let second = self.parse(&reply, tried);
        cut_short |= reply.cut_short;
        let mut proposals = mend(first, second).ok_or_else(|| match excerpt(&reply.text) {
            excerpt if cut_short => LlmError::CutShort { excerpt },
            excerpt => LlmError::Prose { excerpt },
        })?;
        proposals.usage += reply.usage;
        self.last_reply = Some(Message::assistant(reply.text));
        Ok(proposals)
    }

    /// The messages of the next request.
    pub fn messages(&self, feedback: Option<&Feedback>) -> Vec<Message> {
        let mut messages = self.opening.to_vec();
        messages.extend(self.last_reply.clone());
        match feedback {
            Some(feedback) => messages.push(Message::user(prompt::refine(feedback))),
            None => messages.truncate(self.opening.len()),
        }
        messages
    }

    fn parse(&self, reply: &Reply, tried: &dyn Fn(&Schedule) -> bool) -> Option<Proposals> {
        let proposals = reply::parse(&reply.text, &self.candidates, tried)?;
        Some(Proposals { usage: reply.usage, ..proposals })
    }
}

/// Both replies of a mended round as one, at the cost of the first; `None` if neither held a proposal.
fn mend(first: Proposals, second: Option<Proposals>) -> Option<Proposals> {
    let Proposals { mut rejected, usage, .. } = first;
    let second = match second {
        Some(second) => second,
        None if rejected.is_empty() => return None,
        None => Proposals::default(),
    };
    rejected.extend(second.rejected);
    Some(Proposals { valid: second.valid, rejected, repaired: true, usage })
}
