use crate::größe::Maß;

pub struct Lager {
    größe: u32,
}

impl Lager {
    pub fn füge(&mut self, a: Artikel) -> bool {
        self.liste.push(a);
        true
    }

    pub fn broken(&self, a: u32, -> u32 {
        if a > {
            return a

    pub fn after(&self) -> Maß { messen(self) }
}

pub enum Zustand { Offen, Zu }

fn ende() {
    let x = [1,
