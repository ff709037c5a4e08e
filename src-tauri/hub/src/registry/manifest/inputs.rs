//! The inputs of a choice: makes templates from declarations, with one input for each placeholder.

use drawbridge_model::{
    manifest::{InputKind, ManifestInput},
    reference::begins_reference,
};

use super::{
    choice::{Choice, Problem},
    declaration::InputDeclaration,
    template::{Part, Piece, Template, split_placeholders},
};

/// Where an input occurs in a manifest, and the kind of the input.
#[derive(Clone, Copy)]
struct InputContext<'a> {
    /// The name of the variable, header or argument that contains the input.
    owner: &'a str,
    declaration: &'a InputDeclaration,
    kind: InputKind,
}

impl Choice {
    /// Returns the template of a declaration, and records the inputs that it needs. Returns `None`
    /// if the declaration contains an optional secret that would be readable by others, in a URL or
    /// on a command line.
    pub(super) fn build_template(
        &mut self,
        owner: &str,
        declared: &InputDeclaration,
        kind: InputKind,
    ) -> Result<Option<Template>, Problem> {
        let context = InputContext {
            owner,
            declaration: declared,
            kind,
        };
        let Some(value) = &declared.value else {
            let piece = self.add_input(owner, declared, context)?;
            return Ok(piece.map(|piece| Template::new(vec![piece])));
        };
        reject_reference(value)?;
        let old_len = self.inputs.len();
        let pieces = split_placeholders(value)
            .into_iter()
            .map(|part| self.build_piece(&part, context));
        let pieces: Option<Vec<Piece>> = pieces.collect::<Result<_, Problem>>()?;
        if pieces.is_none() {
            self.inputs.truncate(old_len);
        }
        Ok(pieces.map(Template::new))
    }

    fn build_piece(
        &mut self,
        part: &Part<'_>,
        context: InputContext<'_>,
    ) -> Result<Option<Piece>, Problem> {
        let name = match part {
            Part::Text(text) => return Ok(Some(Piece::Text((*text).to_owned()))),
            Part::Placeholder(name) => *name,
        };
        match context.declaration.variables.get(name) {
            Some(InputDeclaration {
                value: Some(fixed), ..
            }) => {
                reject_reference(fixed)?;
                Ok(Some(Piece::Text(fixed.clone())))
            }
            Some(variable) => self.add_input(name, variable, context),
            // Many manifests in the official registry have `Bearer {api_key}` and do not declare
            // `api_key`.
            None if context.declaration.is_secret => {
                let variable = InputDeclaration {
                    description: context.declaration.description.clone(),
                    ..InputDeclaration::default()
                };
                self.add_input(name, &variable, context)
            }
            None => Ok(Some(Piece::Text(format!("{{{name}}}")))),
        }
    }

    /// Records an input. An identical input is recorded only once. If a different input has the
    /// same name, the owner's name or a number is added to the name. Returns `None` for an optional
    /// secret that others could read.
    fn add_input(
        &mut self,
        name: &str,
        variable: &InputDeclaration,
        context: InputContext<'_>,
    ) -> Result<Option<Piece>, Problem> {
        variable
            .default
            .iter()
            .chain(&variable.choices)
            .try_for_each(|text| reject_reference(text))?;
        let InputContext {
            owner,
            declaration: owner_declaration,
            kind,
        } = context;
        let mut input = ManifestInput {
            name: name.to_owned(),
            kind,
            description: variable.description.clone(),
            required: variable.is_required || owner_declaration.is_required,
            secret: variable.is_secret || owner_declaration.is_secret,
            repeated: owner_declaration.is_repeated && kind == InputKind::Argument,
            default: variable.default.clone(),
            choices: variable.choices.clone(),
            placeholder: variable.placeholder.clone(),
            format: variable.format(),
            min: None,
            max: None,
        };
        if input.secret && matches!(kind, InputKind::Argument | InputKind::Url) {
            return if input.required {
                Err(exposed_secret_problem(name, kind))
            } else {
                Ok(None)
            };
        }
        let mut attempt = 1;
        while let Some(other) = self.inputs.iter().find(|other| other.name == input.name) {
            if *other == input {
                return Ok(Some(Piece::Input(input.name)));
            }
            input.name = match attempt {
                1 if owner != name => format!("{owner} {name}"),
                _ => format!("{name} {}", attempt + 1),
            };
            attempt += 1;
        }
        let name = input.name.clone();
        self.inputs.push(input);
        Ok(Some(Piece::Input(name)))
    }
}

/// Returns the problem with a required secret that others could read.
fn exposed_secret_problem(name: &str, kind: InputKind) -> Problem {
    match kind {
        InputKind::Url => Problem::SecretInUrl(name.to_owned()),
        InputKind::Argument | InputKind::Env | InputKind::Header => {
            Problem::SecretInArguments(name.to_owned())
        }
    }
}

/// Rejects a text that refers to a secret. Otherwise a manifest could send another server's secret,
/// a variable or the output of a command to its own server.
fn reject_reference(text: &str) -> Result<(), Problem> {
    if begins_reference(text) {
        Err(Problem::SecretReference)
    } else {
        Ok(())
    }
}
