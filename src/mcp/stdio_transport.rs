//! Standard input and output as a transport that survives messages in the wrong order.
//!
//! The crate ends the connection if the first message is a notification or a response. Such messages have no answer, so
//! this transport drops them until a request that ends the handshake.

use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, ProtocolVersion},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{IntoTransport as _, Transport, stdio_pipes},
};

/// A transport that begins with a request.
struct RequestFirst<T> {
    inner: T,
    begun: bool,
}

/// Returns the transport over standard input and output.
pub(super) fn stdio() -> impl Transport<RoleServer, Error = std::io::Error> + 'static {
    RequestFirst { inner: stdio_pipes().into_transport(), begun: false }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for RequestFirst<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.inner.receive().await?;
            let is_request = match &message {
                ClientJsonRpcMessage::Request(request) => {
                    self.begun |= ends_handshake(&request.request);
                    true
                }
                _ => false,
            };
            if self.begun || is_request {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// True for `initialize`, and for a request of a newer client, which carries its revision.
fn ends_handshake(request: &ClientRequest) -> bool {
    let meta = request.get_meta();
    let known = meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        _ => known && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty(),
    }
}
