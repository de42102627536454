//! ULIDs as values of the type `uuid`, which has the same 16 bytes in the same order.

use std::error::Error;

use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

/// Bytes of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Uuid(pub(super) [u8; 16]);

/// The tree of journal entries that belong to no tree.
pub(super) const NO_TREE: Uuid = Uuid([0; 16]);

impl<'a> FromSql<'a> for Uuid {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw.try_into()?))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }
}

impl ToSql for Uuid {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }

    to_sql_checked!();
}

macro_rules! keys {
    ($($id:ty),*) => {$(
        impl From<$id> for Uuid {
            fn from(id: $id) -> Self {
                Self(id.to_bytes())
            }
        }
    )*};
}

keys!(
    crate::id::NodeId,
    crate::id::TreeId,
    crate::id::AgentId,
    crate::id::SessionId,
    crate::id::DocumentId,
    crate::id::LinkId,
    crate::id::TodoId
);
