//! Enums whose variants are words in settings, items and reports.

/// Declares an enum, each variant with its word.
macro_rules! words {
    ($(#[$of:meta])* pub enum $name:ident { $($(#[$attribute:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$of])*
        pub enum $name {
            $($(#[$attribute])* $variant,)+
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

            /// Reads the word; `None` for any other text.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }
    };
}

pub(crate) use words;
