from unrolled.commands.interpolate import main

if __name__ == "__main__":
    main()
