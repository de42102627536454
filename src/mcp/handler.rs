//! Requests of clients, each in a function of the protocol's crate.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock,
        GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SubscribeRequestParams,
        SubscriptionFilter, Tool as McpTool, UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    McpServer,
    backend::{McpBackend, McpCaller},
    call,
    prompt::{self, PromptCall},
    resource,
    server::INSTRUCTIONS,
    subscription::ChangeDetector,
};
use crate::{
    exec::ExecRights,
    tools::{ErrorCode, ToolError},
};

#[allow(deprecated)] // clients of older revisions subscribe by `resources/subscribe`
impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let mut server = Implementation::new("loomtree", env!("CARGO_PKG_VERSION"));
        server.title = Some("Loomtree".to_owned());
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_completions()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed();
        ServerConfig::new(capabilities.build()).with_server_info(server).with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<McpTool> {
        self.0.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.tools()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.get_tool(&call.name).is_none() {
            return Err(ErrorData::invalid_params(format!("no tool {}", call.name), None));
        }
        call::handle(&self.0, call, context).await
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let offset = match page.and_then(|page| page.cursor) {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| ErrorData::invalid_params("no such cursor", None))?,
        };
        let (resources, next) =
            self.read(&context, move |backend, rights| resource::list(backend, rights, offset)).await?;
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = next.map(|next| next.to_string());
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resource::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let content = self.read(&context, move |backend, rights| resource::read(backend, rights, &request.uri)).await;
        let content = content.map_err(|error| ErrorData { data: Some(json!({ "uri": uri })), ..error })?;
        Ok(ReadResourceResult::new(vec![content]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let argument = match request.argument.name.as_str() {
            // A prompt's session can be a tree.
            "session" => "tree".to_owned(),
            name => name.to_owned(),
        };
        let typed = request.argument.value;
        let completed =
            self.read(&context, move |backend, rights| resource::complete(backend, rights, &argument, &typed));
        let (values, total) = completed.await?;
        let more = total > values.len();
        let info = CompletionInfo::with_pagination(values, u32::try_from(total).ok(), more);
        Ok(CompleteResult::new(info.map_err(|error| ErrorData::internal_error(error, None))?))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompt::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut prompt = PromptCall::new(&request.name, request.arguments.unwrap_or_default())
            .map_err(|message| ErrorData::invalid_params(message, None))?;
        let arguments = std::mem::take(&mut prompt.arguments);
        let result = call::run_lines(&self.0, arguments, &context).await?;
        let text = result.content.first().and_then(ContentBlock::as_text).map_or("", |block| block.text.as_str());
        if result.is_error == Some(true) {
            return Err(ErrorData::invalid_params(text.to_owned(), None));
        }
        Ok(prompt.into_result(text).into())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = requested.resources_list_changed;
        accepted.resource_subscriptions = requested.resource_subscriptions.clone();
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let addresses = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let wants_list = context.accepted().resources_list_changed == Some(true);
        let mut detector = self.detector(context.request_context(), addresses).await?;
        loop {
            let next = tokio::select! {
                next = detector.next() => next,
                () = context.cancelled() => return Ok(()),
            };
            let (following, changes) = next.map_err(|error| protocol_error(&error))?;
            detector = following;
            let sink = context.sink();
            let mut sent = Ok(());
            for address in changes.addresses {
                sent = sent.and(sink.notify_resource_updated(address).await);
            }
            if changes.list && wants_list {
                sent = sent.and(sink.notify_resource_list_changed().await);
            }
            if sent.is_err() {
                return Ok(());
            }
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut detector = self.detector(&context, vec![request.uri.clone()]).await?;
        let cancel = CancellationToken::new();
        self.0.subscribe(request.uri, cancel.clone());
        let peer = context.peer.clone();
        tokio::spawn(async move {
            while let Some(Ok((following, changes))) = cancel.run_until_cancelled(detector.next()).await {
                detector = following;
                for address in changes.addresses {
                    if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(address)).await.is_err() {
                        return;
                    }
                }
            }
        });
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.unsubscribe(&request.uri);
        Ok(())
    }
}

impl McpServer {
    /// Runs a read of the store on a thread for blocking calls.
    async fn read<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        read: impl FnOnce(&Arc<McpBackend>, ExecRights) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (state, caller) = (Arc::clone(&self.0), McpCaller::of(context));
        let call = move || {
            let backend = state.backend(&caller)?;
            read(&backend, state.rights(&backend, &caller))
        };
        let done = tokio::task::spawn_blocking(call).await;
        done.map_err(|_| ErrorData::internal_error("the read failed; try again", None))?
            .map_err(|error| protocol_error(&error))
    }

    async fn detector(
        &self,
        context: &RequestContext<RoleServer>,
        addresses: Vec<String>,
    ) -> Result<ChangeDetector, ErrorData> {
        self.read(context, move |backend, rights| {
            for address in &addresses {
                resource::check_address(rights, address)?;
            }
            ChangeDetector::new(Arc::clone(backend), &addresses)
        })
        .await
    }
}

/// Returns an error of a request that is no tool's, with its hint.
fn protocol_error(error: &ToolError) -> ErrorData {
    let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
    let message = format!("{error}{hint}");
    match error.code {
        ErrorCode::NotFound | ErrorCode::Ambiguous => ErrorData::resource_not_found(message, None),
        ErrorCode::PermissionDenied | ErrorCode::InvalidSyntax => ErrorData::invalid_params(message, None),
        _ => ErrorData::internal_error(message, None),
    }
}
