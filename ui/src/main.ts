import { mount } from "svelte";
import App from "./App.svelte";
import { connect } from "./ipc";
import "./kit/tokens.css";
import "./kit/base.css";
import { followTheme } from "./kit/theme";
import { parseRoute } from "./routes";
import Popup from "./views/Popup.svelte";

followTheme();

// The popup is a window of its own; it has less to say and may ask less of the hub.
const isPopup = () => parseRoute(location.hash).page === "popup";
const popup = isPopup();
// A new sign-in link, or the other kind of window, begins anew.
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#login=") || isPopup() !== popup) location.reload();
});
const ipc = await connect();
const target = document.getElementById("app");
if (target) mount(popup ? Popup : App, { target, props: { ipc } });
