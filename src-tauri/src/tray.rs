//! The tray with Tauri: draws a [`TrayView`] and reports the choices in its menu.

#[cfg(target_os = "linux")]
#[path = "tray/linux.rs"]
mod desktop;
pub(crate) mod menu;

use drawbridge_model::ids::{CallId, ClientName, ServerId};
use tauri::{
    AppHandle,
    image::Image,
    menu::{IsMenuItem, Menu, MenuItem, PredefinedMenuItem, Submenu},
    tray::TrayIconBuilder,
};
use tokio::sync::mpsc;

use crate::{
    input::{Choice, Input, Screen},
    summary::CallRef,
    texts,
};
use menu::{Item, TrayState, TrayView};

const ID: &str = "drawbridge";

/// Whether the icons are templates, whose shape the desktop draws in the colour of its menu bar.
const IS_TEMPLATE: bool = cfg!(target_os = "macos");

// Decoded at compile time, so that the app needs no PNG decoder.
#[cfg(not(target_os = "macos"))]
mod icons {
    use tauri::{image::Image, include_image};

    pub(super) const IDLE: Image<'_> = include_image!("./icons/tray-idle.png");
    pub(super) const WAITING: Image<'_> = include_image!("./icons/tray-waiting.png");
    pub(super) const TROUBLE: Image<'_> = include_image!("./icons/tray-trouble.png");
    pub(super) const PAUSED: Image<'_> = include_image!("./icons/tray-paused.png");
}

#[cfg(target_os = "macos")]
mod icons {
    use tauri::{image::Image, include_image};

    pub(super) const IDLE: Image<'_> = include_image!("./icons/tray-template-idle.png");
    pub(super) const WAITING: Image<'_> = include_image!("./icons/tray-template-waiting.png");
    pub(super) const TROUBLE: Image<'_> = include_image!("./icons/tray-template-trouble.png");
    pub(super) const PAUSED: Image<'_> = include_image!("./icons/tray-template-paused.png");
}

/// Adds the app to the tray. If the desktop has no tray, the app runs without it.
pub(crate) fn create(app: &AppHandle, inputs: mpsc::UnboundedSender<Input>) {
    if !desktop::has_library() {
        tracing::warn!(
            "no tray: libayatana-appindicator3 is not installed. Drawbridge keeps running without a window. To open a window, start Drawbridge again."
        );
        return;
    }
    let tray = TrayIconBuilder::with_id(ID)
        .icon(icons::IDLE)
        .icon_as_template(IS_TEMPLATE)
        .tooltip(texts::PRODUCT_NAME)
        .on_menu_event(move |_, event| {
            if let Some(choice) = parse_choice(event.id().as_ref()) {
                // The controller is dropped only while the app ends.
                let _ = inputs.send(Input::Chosen(choice));
            }
        });
    if let Err(error) = tray.build(app) {
        tracing::warn!(%error, "no tray. Drawbridge keeps running without a window. To open a window, start Drawbridge again.");
    }
}

/// Returns whether a tray is visible now, through which a person can reopen the app.
pub(crate) fn is_shown(app: &AppHandle) -> bool {
    app.tray_by_id(ID).is_some() && desktop::has_panel()
}

/// Draws only the differences between two views, because a new icon flickers and a new menu closes
/// the open menu. Runs on the main thread.
pub(crate) fn draw(
    app: &AppHandle,
    before: Option<&TrayView>,
    view: &TrayView,
) -> tauri::Result<()> {
    let Some(tray) = app.tray_by_id(ID) else {
        return Ok(());
    };
    if before.is_none_or(|before| before.state != view.state) {
        tray.set_icon_with_as_template(Some(icon(view.state)), IS_TEMPLATE)?;
    }
    if before.is_none_or(|before| before.items != view.items) {
        tray.set_menu(Some(build_menu(app, &view.items)?))?;
    }
    tray.set_tooltip(Some(&view.tooltip))?;
    tray.set_title(view.title.as_deref())
}

fn icon(state: TrayState) -> Image<'static> {
    match state {
        TrayState::Idle => icons::IDLE,
        TrayState::Waiting => icons::WAITING,
        TrayState::Trouble => icons::TROUBLE,
        TrayState::Paused => icons::PAUSED,
    }
}

fn build_menu(app: &AppHandle, items: &[Item]) -> tauri::Result<Menu<tauri::Wry>> {
    let menu = Menu::new(app)?;
    for (index, item) in items.iter().enumerate() {
        menu.append(build_item(app, item, &index.to_string())?.as_ref())?;
    }
    Ok(menu)
}

/// Builds a menu item. `position` is its position among all items of the menu, such as `3` or
/// `3.0`.
fn build_item(
    app: &AppHandle,
    item: &Item,
    position: &str,
) -> tauri::Result<Box<dyn IsMenuItem<tauri::Wry>>> {
    Ok(match item {
        Item::Line(text) => Box::new(MenuItem::with_id(
            app,
            format!("line:{position}"),
            escape_label(text),
            false,
            None::<&str>,
        )?),
        Item::Action(choice, text) => Box::new(MenuItem::with_id(
            app,
            item_id(choice, position),
            escape_label(text),
            true,
            None::<&str>,
        )?),
        Item::Menu(text, items) => {
            let submenu =
                Submenu::with_id(app, format!("menu:{position}"), escape_label(text), true)?;
            for (index, item) in items.iter().enumerate() {
                submenu.append(build_item(app, item, &format!("{position}.{index}"))?.as_ref())?;
            }
            Box::new(submenu)
        }
        Item::Separator => Box::new(PredefinedMenuItem::separator(app)?),
    })
}

/// Escapes `&`, which marks an access key in a menu.
fn escape_label(text: &str) -> String {
    text.replace('&', "&&")
}

/// Returns the id of a menu item, unique within the menu. The id of a decision contains its call,
/// so that a menu which is still open when another call moves up cannot decide that other call.
fn item_id(choice: &Choice, position: &str) -> String {
    match choice {
        Choice::Open => format!("open:{position}"),
        Choice::ShowApprovals => format!("approvals:{position}"),
        Choice::ShowMissed => format!("missed:{position}"),
        Choice::Approve(call) => format!("approve:{position}:{}:{}", call.digest, call.id),
        Choice::Deny(call) => format!("deny:{position}:{}:{}", call.digest, call.id),
        Choice::ShowScreen(screen) => format!("screen:{position}:{}", screen.id()),
        Choice::ShowServer(server) => format!("server:{position}::{server}"),
        Choice::Unmute(client) => format!("unmute:{position}::{client}"),
        Choice::CopyEndpoint => format!("copy-endpoint:{position}"),
        Choice::Pause(None) => format!("pause:{position}"),
        Choice::Pause(Some(seconds)) => format!("pause:{position}:{seconds}"),
        Choice::Resume => format!("resume:{position}"),
        Choice::Quit => format!("quit:{position}"),
    }
}

fn parse_choice(id: &str) -> Option<Choice> {
    let mut parts = id.splitn(4, ':');
    let name = parts.next()?;
    let _position = parts.next()?;
    let (first, second) = (parts.next(), parts.next());
    let call = || {
        Some(CallRef {
            digest: first?.to_owned(),
            id: CallId::new(second?),
        })
    };
    match name {
        "open" => Some(Choice::Open),
        "approvals" => Some(Choice::ShowApprovals),
        "missed" => Some(Choice::ShowMissed),
        "approve" => call().map(Choice::Approve),
        "deny" => call().map(Choice::Deny),
        "screen" => Screen::ALL
            .into_iter()
            .find(|screen| Some(screen.id()) == first)
            .map(Choice::ShowScreen),
        "server" => second.map(|id| Choice::ShowServer(ServerId::new(id))),
        "unmute" => second.map(|name| Choice::Unmute(ClientName::new(name))),
        "copy-endpoint" => Some(Choice::CopyEndpoint),
        "pause" => match first {
            Some(seconds) => seconds.parse().ok().map(|s| Choice::Pause(Some(s))),
            None => Some(Choice::Pause(None)),
        },
        "resume" => Some(Choice::Resume),
        "quit" => Some(Choice::Quit),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
mod desktop {
    pub(super) fn has_library() -> bool {
        true
    }

    pub(super) fn has_panel() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_model::ids::CallId;

    use super::{CallRef, Choice, ClientName, Screen, ServerId, item_id, parse_choice};

    #[test]
    fn a_choice_is_parsed_back_from_its_item_id() {
        let call = || CallRef {
            id: CallId::new("7:8"),
            digest: "00".into(),
        };
        let calls = [Choice::Approve(call()), Choice::Deny(call())];
        let plain = [
            Choice::Open,
            Choice::ShowApprovals,
            Choice::ShowMissed,
            Choice::ShowServer(ServerId::new("a:b")),
            Choice::Unmute(ClientName::new("a:b")),
            Choice::CopyEndpoint,
            Choice::Pause(None),
            Choice::Pause(Some(900)),
            Choice::Resume,
            Choice::Quit,
        ];
        let screens = Screen::ALL.map(Choice::ShowScreen);
        for choice in calls.into_iter().chain(plain).chain(screens) {
            assert_eq!(parse_choice(&item_id(&choice, "7.1")), Some(choice));
        }
        assert_eq!(parse_choice("line:7"), None);
        assert_eq!(parse_choice("approve:7"), None);
    }
}
