use super::*;
use crate::provider::{Sampling, StreamEvent};

fn request(max_tokens: Option<u32>) -> Request {
    let sampling = Sampling { max_tokens, ..Sampling::default() };
    Request { sampling, ..Request::new(Prompt::Raw("once upon a time".into())) }
}

async fn collect(mut reply: Generation) -> (String, Result<Finish, ProviderError>) {
    let mut text = String::new();
    let last = reply.read_to_string(&mut text).await;
    assert_eq!(reply.next().await, None, "nothing follows the terminal item");
    (text, last)
}

#[tokio::test(start_paused = true)]
async fn replies_cycle_in_the_order_of_calls() {
    let model = Scripted::new([ScriptedReply::words("a b").delayed(Duration::from_secs(9)), ScriptedReply::words("c")]);
    let replies = [model.stream(request(None)), model.stream(request(None)), model.stream(request(None))];
    let mut texts = Vec::new();
    for reply in replies {
        let (text, last) = collect(reply).await;
        let finish = last.unwrap();
        texts.push((text, finish.first_token.unwrap().as_secs(), finish.usage.unwrap()));
    }
    let usage = |output| Usage { prompt: 4, output, ..Usage::default() };
    assert_eq!(texts, [("a b".into(), 9, usage(2)), ("c".into(), 0, usage(1)), ("a b".into(), 9, usage(2))]);
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn replies_fail_reach_the_limit_and_hang() {
    let cut = || ScriptedEnd::Fail { after: 1, error: ProviderError::Cancelled };
    let model = Scripted::new([
        ScriptedReply::words("a b").ending(cut()),
        ScriptedReply::words("a b"),
        ScriptedReply::words("a").ending(ScriptedEnd::Hang),
    ]);
    assert_eq!(collect(model.stream(request(None))).await, ("a ".into(), Err(ProviderError::Cancelled)));
    let (text, last) = collect(model.stream(request(Some(1)))).await;
    assert_eq!((text.as_str(), last.unwrap().reason), ("a ", FinishReason::Length));
    let mut hanging = model.stream(request(None));
    assert_eq!(hanging.next().await, Some(Ok(StreamEvent::Text("a".into()))));
    hanging.cancel();
    assert_eq!(hanging.next().await, Some(Err(ProviderError::Cancelled)));
    assert_eq!(hanging.next().await, None);
}

#[test]
fn a_call_outside_a_runtime_is_an_error_and_no_panic() {
    let mut reply = Scripted::new([]).stream(request(None));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let item = runtime.block_on(reply.next());
    assert!(matches!(item, Some(Err(ProviderError::Configuration { .. }))), "{item:?}");
}
