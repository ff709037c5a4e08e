//! The tray on Tauri: draws a [`TrayView`] and reports the choices in its menu.

#[cfg(target_os = "linux")]
#[path = "tray/linux.rs"]
mod desktop;
pub(crate) mod menu;

use drawbridge_hub::model::ids::CallId;
use tauri::{
    AppHandle,
    image::Image,
    include_image,
    menu::{IsMenuItem, Menu, MenuItem, PredefinedMenuItem, Submenu},
    tray::TrayIconBuilder,
};
use tokio::sync::mpsc;

use crate::{controller::Input, glance::Seen};
use menu::{Choice, Item, TrayState, TrayView};

const ID: &str = "drawbridge";

// Decoded at compile time, so that the app needs no PNG decoder.
const IDLE: Image<'_> = include_image!("./icons/tray-idle.png");
const WAITING: Image<'_> = include_image!("./icons/tray-waiting.png");
const TROUBLE: Image<'_> = include_image!("./icons/tray-trouble.png");
const RAISED: Image<'_> = include_image!("./icons/tray-raised.png");

/// Adds the app to the tray. If the desktop has no tray, the app runs without it.
pub(crate) fn create(app: &AppHandle, inputs: mpsc::UnboundedSender<Input>) {
    if !desktop::library_is_there() {
        tracing::warn!(
            "no tray: libayatana-appindicator3 is not installed; closing the window will end Drawbridge"
        );
        return;
    }
    let tray = TrayIconBuilder::with_id(ID)
        .icon(IDLE)
        .tooltip("Drawbridge")
        .on_menu_event(move |_, event| {
            if let Some(choice) = choice(event.id().as_ref()) {
                // The controller is dropped only while the app ends.
                let _ = inputs.send(Input::Chosen(choice));
            }
        });
    if let Err(error) = tray.build(app) {
        tracing::warn!(%error, "no tray; closing the window will end Drawbridge");
    }
}

/// Returns whether a tray is visible now, through which a person can come back to the app.
pub(crate) fn is_shown(app: &AppHandle) -> bool {
    app.tray_by_id(ID).is_some() && desktop::panel_is_there()
}

/// Draws only the differences between two views, because a new icon flickers and a new menu closes
/// the open one. Runs on the main thread.
pub(crate) fn draw(
    app: &AppHandle,
    before: Option<&TrayView>,
    view: &TrayView,
) -> tauri::Result<()> {
    let Some(tray) = app.tray_by_id(ID) else {
        return Ok(());
    };
    if before.is_none_or(|before| before.state != view.state) {
        tray.set_icon(Some(icon(view.state)))?;
    }
    if before.is_none_or(|before| before.items != view.items) {
        tray.set_menu(Some(menu(app, &view.items)?))?;
    }
    tray.set_tooltip(Some(&view.tooltip))?;
    tray.set_title(view.title.as_deref())
}

fn icon(state: TrayState) -> Image<'static> {
    match state {
        TrayState::Idle => IDLE,
        TrayState::Waiting => WAITING,
        TrayState::Trouble => TROUBLE,
        TrayState::Raised => RAISED,
    }
}

fn menu(app: &AppHandle, items: &[Item]) -> tauri::Result<Menu<tauri::Wry>> {
    let menu = Menu::new(app)?;
    for (index, item) in items.iter().enumerate() {
        menu.append(made(app, item, &index.to_string())?.as_ref())?;
    }
    Ok(menu)
}

/// Builds a menu item. `place` is its position among all items of the menu.
fn made(
    app: &AppHandle,
    item: &Item,
    place: &str,
) -> tauri::Result<Box<dyn IsMenuItem<tauri::Wry>>> {
    Ok(match item {
        Item::Line(text) => Box::new(MenuItem::with_id(
            app,
            format!("line:{place}"),
            label(text),
            false,
            None::<&str>,
        )?),
        Item::Action(choice, text) => Box::new(MenuItem::with_id(
            app,
            id(choice, place),
            label(text),
            true,
            None::<&str>,
        )?),
        Item::Menu(text, items) => {
            let submenu = Submenu::with_id(app, format!("menu:{place}"), label(text), true)?;
            for (index, item) in items.iter().enumerate() {
                submenu.append(made(app, item, &format!("{place}.{index}"))?.as_ref())?;
            }
            Box::new(submenu)
        }
        Item::Separator => Box::new(PredefinedMenuItem::separator(app)?),
    })
}

/// Escapes `&`, which marks an access key in a menu.
fn label(text: &str) -> String {
    text.replace('&', "&&")
}

/// Returns the id of a menu item, unique within the menu. The id of a decision contains its call,
/// so that a menu which is still open when another call moves up cannot decide that other call.
fn id(choice: &Choice, place: &str) -> String {
    match choice {
        Choice::Open => format!("open:{place}"),
        Choice::ShowApprovals => format!("approvals:{place}"),
        Choice::Approve(call) => format!("approve:{place}:{}:{}", call.digest, call.id),
        Choice::Deny(call) => format!("deny:{place}:{}:{}", call.digest, call.id),
        Choice::Raise => format!("raise:{place}"),
        Choice::Lower => format!("lower:{place}"),
        Choice::Quit => format!("quit:{place}"),
    }
}

fn choice(id: &str) -> Option<Choice> {
    let mut parts = id.splitn(4, ':');
    let name = parts.next()?;
    let _place = parts.next()?;
    let mut seen = || {
        Some(Seen {
            digest: parts.next()?.to_owned(),
            id: CallId::new(parts.next()?),
        })
    };
    match name {
        "open" => Some(Choice::Open),
        "approvals" => Some(Choice::ShowApprovals),
        "approve" => seen().map(Choice::Approve),
        "deny" => seen().map(Choice::Deny),
        "raise" => Some(Choice::Raise),
        "lower" => Some(Choice::Lower),
        "quit" => Some(Choice::Quit),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
mod desktop {
    pub(super) fn library_is_there() -> bool {
        true
    }

    pub(super) fn panel_is_there() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_hub::model::ids::CallId;

    use super::{Choice, Seen, choice, id};

    #[test]
    fn what_is_chosen_is_read_back_from_its_item() {
        let call = || Seen {
            id: CallId::new("7:8"),
            digest: "00".into(),
        };
        let calls = [Choice::Approve(call()), Choice::Deny(call())];
        let plain = [
            Choice::Open,
            Choice::ShowApprovals,
            Choice::Raise,
            Choice::Lower,
            Choice::Quit,
        ];
        for wanted in calls.into_iter().chain(plain) {
            assert_eq!(choice(&id(&wanted, "7.1")), Some(wanted));
        }
        assert_eq!(choice("line:7"), None);
        assert_eq!(choice("approve:7"), None);
    }
}
