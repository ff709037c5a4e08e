//! What a choice asks: templates from what is declared, each place of one with its input.

use super::{
    choice::{Choice, NAMES_THE_KEYRING, OF_THE_KEYRING, Problem},
    declared::Declared,
    template::{Part, Piece, Template, parts},
};
use crate::model::manifest::{InputKind, ManifestInput};

/// What is asked for: its place, and what it is a part of.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The variable's, header's or argument's name.
    owner: &'a str,
    within: &'a Declared,
    kind: InputKind,
}

impl Choice {
    /// The text of what is declared, and the inputs that it asks for. None where it asks for a secret that has no safe
    /// place and can be left out.
    pub(super) fn template(
        &mut self,
        owner: &str,
        declared: &Declared,
        kind: InputKind,
    ) -> Result<Option<Template>, Problem> {
        let place = Place {
            owner,
            within: declared,
            kind,
        };
        let Some(value) = &declared.value else {
            let piece = self.ask(owner, declared, place)?;
            return Ok(piece.map(|piece| Template::new(vec![piece])));
        };
        not_of_the_keyring(value)?;
        let asked = self.inputs.len();
        let pieces = parts(value)
            .into_iter()
            .map(|part| self.piece(&part, place));
        let pieces: Option<Vec<Piece>> = pieces.collect::<Result<_, Problem>>()?;
        if pieces.is_none() {
            self.inputs.truncate(asked);
        }
        Ok(pieces.map(Template::new))
    }

    fn piece(&mut self, part: &Part<'_>, place: Place<'_>) -> Result<Option<Piece>, Problem> {
        let name = match part {
            Part::Text(text) => return Ok(Some(Piece::Text((*text).to_owned()))),
            Part::Name(name) => *name,
        };
        match place.within.variables.get(name) {
            Some(Declared {
                value: Some(fixed), ..
            }) => {
                not_of_the_keyring(fixed)?;
                Ok(Some(Piece::Text(fixed.clone())))
            }
            Some(variable) => self.ask(name, variable, place),
            // The registry is full of `Bearer {api_key}` without a word on `api_key`.
            None if place.within.is_secret => {
                let variable = Declared {
                    description: place.within.description.clone(),
                    ..Declared::default()
                };
                self.ask(name, &variable, place)
            }
            None => Ok(Some(Piece::Text(format!("{{{name}}}")))),
        }
    }

    /// Notes an input; the same one once. Where its name is another's, it is called after its owner, too.
    fn ask(
        &mut self,
        name: &str,
        asked: &Declared,
        place: Place<'_>,
    ) -> Result<Option<Piece>, Problem> {
        asked
            .default
            .iter()
            .chain(&asked.choices)
            .try_for_each(|text| not_of_the_keyring(text))?;
        let Place {
            owner,
            within,
            kind,
        } = place;
        let mut input = ManifestInput {
            name: name.to_owned(),
            kind,
            description: asked.description.clone(),
            required: asked.is_required || within.is_required,
            secret: asked.is_secret || within.is_secret,
            repeated: within.is_repeated && kind == InputKind::Argument,
            default: asked.default.clone(),
            choices: asked.choices.clone(),
            placeholder: asked.placeholder.clone(),
            format: asked.format(),
        };
        if input.secret && matches!(kind, InputKind::Argument | InputKind::Url) {
            return if input.required {
                Err(open_secret(name, kind))
            } else {
                Ok(None)
            };
        }
        let mut turn = 1;
        while let Some(other) = self.inputs.iter().find(|other| other.name == input.name) {
            if *other == input {
                return Ok(Some(Piece::Input(input.name)));
            }
            input.name = match turn {
                1 if owner != name => format!("{owner} {name}"),
                _ => format!("{name} {}", turn + 1),
            };
            turn += 1;
        }
        let name = input.name.clone();
        self.inputs.push(input);
        Ok(Some(Piece::Input(name)))
    }
}

/// A secret that would stand where others can read it is not asked for.
fn open_secret(name: &str, kind: InputKind) -> Problem {
    let place = match kind {
        InputKind::Url => "in its URL, which is shown and logged",
        InputKind::Argument | InputKind::Env | InputKind::Header => {
            "on its command line, which every program of this computer can read"
        }
    };
    format!("it wants the secret '{name}' {place}")
}

/// A manifest that could name an entry of the keyring could hand another server's secret to its own.
fn not_of_the_keyring(text: &str) -> Result<(), Problem> {
    if text.contains(OF_THE_KEYRING) {
        Err(NAMES_THE_KEYRING.into())
    } else {
        Ok(())
    }
}
