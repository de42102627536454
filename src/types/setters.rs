//! Chainable setters of structs with many optional fields.

/// Generates a setter for each listed field. `some` wraps the value, `into` converts it, and `option` takes a value or an
/// `Option`.
macro_rules! setters {
    (@one $(#[$doc:meta])+ $field:ident some into $value:ty) => {
        $(#[$doc])+
        #[must_use]
        pub fn $field(mut self, $field: impl Into<$value>) -> Self {
            self.$field = Some($field.into());
            self
        }
    };
    (@one $(#[$doc:meta])+ $field:ident some $value:ty) => {
        $(#[$doc])+
        #[must_use]
        pub fn $field(mut self, $field: $value) -> Self {
            self.$field = Some($field);
            self
        }
    };
    (@one $(#[$doc:meta])+ $field:ident option $value:ty) => {
        $(#[$doc])+
        #[must_use]
        pub fn $field(mut self, $field: impl Into<Option<$value>>) -> Self {
            self.$field = $field.into();
            self
        }
    };
    (@one $(#[$doc:meta])+ $field:ident into $value:ty) => {
        $(#[$doc])+
        #[must_use]
        pub fn $field(mut self, $field: impl Into<$value>) -> Self {
            self.$field = $field.into();
            self
        }
    };
    (@one $(#[$doc:meta])+ $field:ident $value:ty) => {
        $(#[$doc])+
        #[must_use]
        pub fn $field(mut self, $field: $value) -> Self {
            self.$field = $field;
            self
        }
    };
    ($name:ident { $($(#[$doc:meta])+ $field:ident($($value:tt)+);)+ }) => {
        impl $name {
            $($crate::types::setters!(@one $(#[$doc])+ $field $($value)+);)+
        }
    };
}

pub(crate) use setters;
