//! The tray on Tauri: draws a [`TrayView`], and says what was chosen in its menu.

#[cfg(target_os = "linux")]
#[path = "tray/linux.rs"]
mod desktop;
pub(crate) mod menu;

use tauri::{
    AppHandle,
    image::Image,
    include_image,
    menu::{IsMenuItem, Menu, MenuItem, PredefinedMenuItem},
    tray::TrayIconBuilder,
};
use tokio::sync::mpsc;

use crate::controller::Input;
use menu::{Choice, Item, TrayState, TrayView};

const ID: &str = "drawbridge";

// Decoded when this is compiled: no PNG decoder in the app.
const IDLE: Image<'_> = include_image!("./icons/tray-idle.png");
const WAITING: Image<'_> = include_image!("./icons/tray-waiting.png");
const TROUBLE: Image<'_> = include_image!("./icons/tray-trouble.png");

/// Puts the app into the tray, where the desktop has one. Without one the app goes on.
pub(crate) fn create(app: &AppHandle, inputs: mpsc::UnboundedSender<Input>) {
    if !desktop::library_is_there() {
        tracing::warn!("no tray: libayatana-appindicator3 is not installed; closing the window will end Drawbridge");
        return;
    }
    let tray = TrayIconBuilder::with_id(ID).icon(IDLE).tooltip("Drawbridge").on_menu_event(move |_, event| {
        if let Some(choice) = choice(event.id().as_ref()) {
            // The controller is gone only when the app is about to end.
            let _ = inputs.send(Input::Chosen(choice));
        }
    });
    if let Err(error) = tray.build(app) {
        tracing::warn!(%error, "no tray; closing the window will end Drawbridge");
    }
}

/// Whether a person can see the tray now, and come back through it.
pub(crate) fn is_shown(app: &AppHandle) -> bool {
    app.tray_by_id(ID).is_some() && desktop::panel_is_there()
}

/// Shows what differs between two views: a new icon flickers, and a new menu closes the one that is open.
/// On the main thread.
pub(crate) fn draw(app: &AppHandle, before: Option<&TrayView>, view: &TrayView) -> tauri::Result<()> {
    let Some(tray) = app.tray_by_id(ID) else { return Ok(()) };
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
    }
}

fn menu(app: &AppHandle, items: &[Item]) -> tauri::Result<Menu<tauri::Wry>> {
    let menu = Menu::new(app)?;
    for (index, item) in items.iter().enumerate() {
        let item: Box<dyn IsMenuItem<_>> = match item {
            Item::Line(text) => {
                Box::new(MenuItem::with_id(app, format!("line:{index}"), label(text), false, None::<&str>)?)
            }
            Item::Action(choice, text) => {
                Box::new(MenuItem::with_id(app, id(*choice, index), label(text), true, None::<&str>)?)
            }
            Item::Separator => Box::new(PredefinedMenuItem::separator(app)?),
        };
        menu.append(item.as_ref())?;
    }
    Ok(menu)
}

/// A menu takes `&` for the mark of an access key.
fn label(text: &str) -> String {
    text.replace('&', "&&")
}

/// The id of a menu item; no two items have the same.
fn id(choice: Choice, index: usize) -> String {
    let name = match choice {
        Choice::Open => "open",
        Choice::ShowApprovals => "approvals",
        Choice::Quit => "quit",
    };
    format!("{name}:{index}")
}

fn choice(id: &str) -> Option<Choice> {
    match id.split_once(':')?.0 {
        "open" => Some(Choice::Open),
        "approvals" => Some(Choice::ShowApprovals),
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
    use super::{Choice, choice, id};

    #[test]
    fn what_is_chosen_is_read_back_from_its_item() {
        for wanted in [Choice::Open, Choice::ShowApprovals, Choice::Quit] {
            assert_eq!(choice(&id(wanted, 7)), Some(wanted));
        }
        assert_eq!(choice("line:0"), None);
    }
}
