"""Pure data of Convostore: models, identifiers, dialects, diff, conversion, formats. No driver, no I/O."""
