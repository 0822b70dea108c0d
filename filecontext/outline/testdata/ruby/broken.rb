require "größe"

class Lager
  def füge(artikel)
    @liste << artikel
  end

  def broken(a, 
    if a >
      [1, 2

  def after
    messe(self)
  end
end

module Zweite
  def self.los
    x = {
