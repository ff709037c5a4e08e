import { mount } from "svelte";
import App from "./App.svelte";
import { connect } from "./ipc";
import "./kit/tokens.css";
import "./kit/base.css";
import { followTheme } from "./kit/theme";
import { parseRoute } from "./routes";
import Popup from "./views/Popup.svelte";

followTheme();

// The popup is a separate window with fewer permissions.
const isPopup = () => parseRoute(location.hash).page === "popup";
const popup = isPopup();
// Reload if the page opens a new sign-in link or changes between main window and popup.
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#login=") || isPopup() !== popup) location.reload();
});
const ipc = await connect();
const target = document.getElementById("app");
if (target) mount(popup ? Popup : App, { target, props: { ipc } });
