use drawbridge_store::settings::SettingsValues;

use super::*;

struct Fixture {
    store: Store,
    settings: Settings,
    drawbridge: Drawbridge,
    _folder: tempfile::TempDir,
}

async fn fixture() -> Fixture {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(&folder.path().join("test.db"))
        .await
        .expect("a store");
    let settings = Settings::load(store.clone()).await.expect("settings");
    let drawbridge = Drawbridge::new(settings.clone(), Events::new());
    Fixture {
        store,
        settings,
        drawbridge,
        _folder: folder,
    }
}

impl Fixture {
    /// Runs the timer until calls are no longer paused.
    async fn run_timer(&self) {
        let mut state = self.drawbridge.pause.subscribe();
        tokio::select! {
            () = self.drawbridge.clone().resume_on_time(self.store.clone()) => panic!("the timer ended"),
            resumed = state.wait_for(Option::is_none) => drop(resumed.expect("the sender exists")),
        }
    }

    async fn stored(&self) -> Arc<SettingsValues> {
        let stored = Settings::load(self.store.clone()).await;
        stored.expect("settings").get()
    }
}

#[tokio::test]
async fn calls_resume_by_themselves_when_the_pause_is_over() {
    let fixture = fixture().await;
    let past = Some(Timestamp(clock::now().0 - 1));
    fixture.drawbridge.pause(past).await.expect("paused");
    assert!(fixture.drawbridge.is_paused());
    fixture.run_timer().await;
    assert!(!fixture.drawbridge.is_paused());
    let stored = fixture.stored().await;
    assert_eq!((stored.paused, stored.paused_until), (false, None));
}

#[tokio::test]
async fn the_end_of_a_pause_survives_a_restart() {
    let fixture = fixture().await;
    let until = Some(clock::time_after(Duration::from_secs(3600)));
    fixture.drawbridge.pause(until).await.expect("paused");
    let settings = Settings::load(fixture.store.clone()).await;
    let restarted = Drawbridge::new(settings.expect("settings"), Events::new());
    assert!(restarted.is_paused());
    assert_eq!(restarted.resumes_at(), until);
}

#[tokio::test]
async fn a_pause_that_ended_while_the_hub_did_not_run_is_ended_at_the_start() {
    let mut fixture = fixture().await;
    fixture
        .settings
        .change(SettingsChange::pause(Some(Timestamp(1))))
        .await
        .expect("stored");
    fixture.drawbridge = Drawbridge::new(fixture.settings.clone(), Events::new());
    assert!(
        fixture.drawbridge.is_paused(),
        "no call runs before the pause is ended"
    );
    fixture.run_timer().await;
    assert!(!fixture.stored().await.paused);
}

#[tokio::test]
async fn the_end_of_a_pause_does_not_end_a_later_pause() {
    let fixture = fixture().await;
    let earlier = Some(Pause {
        resumes_at: Some(Timestamp(1)),
    });
    fixture.drawbridge.pause(None).await.expect("paused");
    let ended = fixture
        .drawbridge
        .end_pause(earlier)
        .await
        .expect("compared");
    assert!(!ended && fixture.drawbridge.is_paused() && fixture.stored().await.paused);
}

#[tokio::test]
async fn a_pause_without_an_end_lasts_until_a_person_resumes_calls() {
    let fixture = fixture().await;
    let past = Some(Timestamp(1));
    fixture.drawbridge.pause(past).await.expect("paused");
    fixture.drawbridge.pause(None).await.expect("paused");
    assert_eq!(fixture.drawbridge.resumes_at(), None);
    fixture.drawbridge.resume().await.expect("resumed");
    assert!(!fixture.drawbridge.is_paused());
}
