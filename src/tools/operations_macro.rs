//! The macro that turns the list of operations into [`Command`](super::Command), [`Tool`](super::Tool) and
//! [`TABLE`](super::TABLE).
//!
//! The text of an argument is both its help and the documentation of its field. Its kind follows from the field's type,
//! unless brackets after the type name another one. Options that are absent are left out of the JSON.

/// Declares the operations. `operations.rs` is the only use and shows the form.
macro_rules! operations {
    ($(
        $name:ident $word:literal also $synonyms:tt ($group:ident, $permission:ident, $effect:ident) $help:literal {
            brief $brief:literal;
            forms $forms:tt;
            $(exactly_one $exactly:tt;)?
            $(at_most_one $most:tt;)?
            $(at_least_one $least:tt;)?
            $($rest:literal needs $on:tt;)?
            reply $reply:literal;
            example $example:literal;
            $($(#[$attr:meta])* $field:ident $(as $key:literal)?: $ty:ty $([$kind:expr])?, $meaning:literal;)*
            $(..$flat:ident: $flat_ty:ty {
                $($last:ident: $last_ty:ty, $last_meaning:literal;)*
            })?
        }
    )*) => {
        /// An operation with its arguments, each typed and within its limits. An absent node means the current
        /// position.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "op", rename_all = "lowercase")]
        pub enum Command {
            $(#[doc = $help] $name {
                $(
                    #[doc = $meaning]
                    $(#[$attr])*
                    $(#[serde(rename = $key)])?
                    #[serde(skip_serializing_if = "Argument::is_absent")]
                    $field: $ty,
                )*
                $(
                    #[doc = concat!("[`", stringify!($flat_ty), "`]; its fields are arguments.")]
                    #[serde(flatten)]
                    $flat: $flat_ty,
                    $(#[doc = $last_meaning] $last: $last_ty,)*
                )?
            },)*
        }

        /// An operation without its arguments: the key of a row of [`TABLE`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        #[repr(u8)]
        pub enum Tool {
            $(#[doc = $help] $name,)*
        }

        impl Tool {
            /// Every operation, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }

        impl Command {
            /// Returns the tool that runs the command.
            #[must_use]
            pub const fn tool(&self) -> Tool {
                match self {
                    $(Self::$name { .. } => Tool::$name,)*
                }
            }

            /// Returns the nodes that the command's own arguments refer to, in the order of its fields; `None` for an absent
            /// one. The ends of links and the filters of a recall are not among them.
            pub(crate) fn nodes(&self) -> Vec<Option<&NodeRef>> {
                match self {
                    $(Self::$name { $($field,)* .. } => [$(Argument::nodes($field)),*].concat(),)*
                }
            }
        }

        /// Every tool, in the order of [`Tool::ALL`].
        pub const TABLE: &[ToolSpec] = &[$(ToolSpec {
            tool: Tool::$name,
            name: $word,
            synonyms: &$synonyms,
            group: ToolGroup::$group,
            permission: Permission::$permission,
            side_effect: SideEffect::$effect,
            brief: $brief,
            forms: &$forms,
            help: $help,
            arguments: &[
                &[$(argument!($field $($key)?, $ty $(, $kind)?, $meaning)),*],
                $(<$flat_ty>::ARGUMENTS, &[$(argument!($last, $last_ty, $last_meaning)),*],)?
            ],
            rules: ArgRules {
                at_most_one: names!($($exactly)? $($most)?),
                at_least_one: names!($($exactly)? $($least)?),
                dependent: dependent!($($rest $on)?),
            },
            reply: $reply,
            example: $example,
        }),*];
    };
}

/// Declares a structure whose fields are arguments of the command that it is flattened into.
macro_rules! argument_struct {
    (
        $(#[$doc:meta])* $name:ident {
            $($(#[$attr:meta])* $field:ident: $ty:ty, $meaning:literal;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            $(
                #[doc = $meaning]
                $(#[$attr])*
                #[serde(skip_serializing_if = "Argument::is_absent")]
                pub $field: $ty,
            )*
        }

        impl $name {
            pub(super) const ARGUMENTS: &[ArgSpec] = &[$(argument!($field, $ty, $meaning)),*];
        }
    };
}

/// Builds the [`ArgSpec`](super::ArgSpec) of a field.
macro_rules! argument {
    ($field:ident $(, $rest:tt)+) => {
        argument!(stringify!($field) $(, $rest)+)
    };
    ($field:ident $key:literal $(, $rest:tt)+) => {
        argument!($key $(, $rest)+)
    };
    ($name:expr, $ty:ty, $meaning:literal) => {
        argument!($name, $ty, <$ty as Argument>::KIND, $meaning)
    };
    ($name:expr, $ty:ty, $kind:expr, $meaning:literal) => {
        ArgSpec { name: $name, kind: $kind, required: <$ty as Argument>::REQUIRED, meaning: $meaning }
    };
}

/// Returns a list of names; the empty list for none.
macro_rules! names {
    () => {
        &[]
    };
    ($names:tt) => {
        &$names
    };
}

/// Returns the argument that needs one of others; `None` for none.
macro_rules! dependent {
    () => {
        None
    };
    ($name:literal $on:tt) => {
        Some(($name, &$on))
    };
}

pub(super) use {argument, argument_struct, dependent, names, operations};
