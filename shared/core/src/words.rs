//! Enums whose variants are words in settings, items and reports.

/// Declares an enum, each variant with its documentation and its word. An attribute of a variant follows its word.
macro_rules! words {
    ($(#[$of:meta])* pub enum $name:ident {
        $($(#[doc = $doc:literal])+ $variant:ident = $word:literal $(#[$default:ident])?,)+
    }) => {
        $(#[$of])*
        pub enum $name {
            $($(#[doc = $doc])+ $(#[$default])? $variant,)+
        }

        impl $name {
            /// All of them, in their order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word in settings, items and reports.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The meaning, which is the documentation of the variant here.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc),*),)+
                }
            }

            /// Reads the word; `None` for any other text.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }
    };
}

pub(crate) use words;
